#include "cli/completion.h"

namespace shardmanager::cli {
namespace {

// zsh runs it too, through its emulation of bash's completion.
constexpr char kBash[] = R"sh(# Completion of shardctl.
_shardctl_names() {
  # What the control plane knows; silent, and quick to give up, when it is away.
  shardctl ${server:+--server "$server"} --timeout 2s get "$@" -o name 2>/dev/null
}

_shardctl() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  local command="" resource="" server="" app="" words="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      -s|--server) server="${COMP_WORDS[++i]}" ;;
      -a|--app) app="${COMP_WORDS[++i]}" ;;
      -o|--output|-f|--filename|--timeout|--time|--seed|--format|--on|--candidates|--reason) ((++i)) ;;
      -*) ;;
      *) if [[ -z "$command" ]]; then command="${COMP_WORDS[i]}"
         elif [[ -z "$resource" ]]; then resource="${COMP_WORDS[i]}"
         fi ;;
    esac
  done
  case "$previous" in
    -f|--filename) COMPREPLY=($(compgen -f -- "$current")); return ;;
    -a|--app) COMPREPLY=($(compgen -W "$(_shardctl_names apps)" -- "$current")); return ;;
    -o|--output)
      case "$command" in
        get) words="table wide json yaml name spec" ;;
        watch) words="table json" ;;
        place) words="text json yaml" ;;
        *) words="table json yaml" ;;
      esac
      COMPREPLY=($(compgen -W "$words" -- "$current")); return ;;
    --on) COMPREPLY=($(compgen -W "$(_shardctl_names servers --app "$resource")" -- "$current"))
          return ;;
    -s|--server|--timeout) return ;;
  esac
  if [[ "$current" == -* ]]; then
    words="--help --server --timeout"
    case "$command" in
      apply) words+=" --filename --force --dry-run" ;;
      get) words+=" --app --output" ;;
      describe) words+=" --app" ;;
      explain) words+=" --on --candidates --output" ;;
      drain) words+=" --app --primaries-only --reason --wait" ;;
      undrain) words+=" --app" ;;
      delete) words+=" --yes" ;;
      release) words+=" --app" ;;
      watch) words+=" --app --no-follow --output" ;;
      place) words+=" --format --output --time --seed --dry-run" ;;
      status) words+=" --output" ;;
    esac
  else
    case "$command:$resource" in
      :) words="apply get describe explain drain undrain delete release watch place status"
         words+=" completion version" ;;
      get:) words="apps servers shards" ;;
      describe:) words="app server shard" ;;
      drain:|undrain:) words="server rack datacenter region" ;;
      delete:) words="app" ;;
      release:) words="server" ;;
      completion:) words="bash zsh fish" ;;
      explain:) words="$(_shardctl_names apps)" ;;
      explain:*) words="$(_shardctl_names shards --app "$resource")" ;;
      apply:*|place:*) COMPREPLY=($(compgen -f -- "$current")); return ;;
      *:app|*:apps) words="$(_shardctl_names apps)" ;;
      *:server|*:servers) words="$(_shardctl_names servers ${app:+--app "$app"})" ;;
      *:shard|*:shards) words="$(_shardctl_names shards ${app:+--app "$app"})" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -F _shardctl shardctl
)sh";

constexpr char kZshStart[] = R"sh(autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
)sh";

constexpr char kFish[] = R"sh(# Completion of shardctl.
function __shardctl_words
    # The words before the cursor that are no flags, without "shardctl".
    set -l words
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word -s --server -a --app -o --output --timeout --time --seed --format --on --candidates --reason
            set skip 1
        else if not string match -q -- '-*' $word
            set -a words $word
        end
    end
    printf '%s\n' $words
end

function __shardctl_at --argument-names count command resource
    set -l words (__shardctl_words)
    test (count $words) = $count; or return 1
    test $count -lt 1; or string match -qr -- "^($command)\$" $words[1]; or return 1
    test $count -lt 2; or string match -qr -- "^($resource)\$" $words[2]
end

function __shardctl_in --argument-names command
    set -l words (__shardctl_words)
    test (count $words) -ge 1; and string match -qr -- "^($command)\$" $words[1]
end

function __shardctl_names
    set -l flags
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        if contains -- $words[$i] -s --server -a --app; and test $i -lt (count $words)
            set -a flags $words[$i] $words[(math $i + 1)]
        end
    end
    shardctl --timeout 2s get $argv -o name $flags 2>/dev/null
end

complete -c shardctl -f
complete -c shardctl -n '__shardctl_at 0' -a apply -d 'Create or change apps from YAML files'
complete -c shardctl -n '__shardctl_at 0' -a get -d 'List apps, servers or shards'
complete -c shardctl -n '__shardctl_at 0' -a describe -d 'Show all about one thing'
complete -c shardctl -n '__shardctl_at 0' -a explain -d 'Show why a shard is where it is'
complete -c shardctl -n '__shardctl_at 0' -a drain -d 'Empty servers ahead of planned work'
complete -c shardctl -n '__shardctl_at 0' -a undrain -d 'Take a drain back'
complete -c shardctl -n '__shardctl_at 0' -a delete -d 'Delete an app'
complete -c shardctl -n '__shardctl_at 0' -a release -d 'Give up what an unreadable record may grant'
complete -c shardctl -n '__shardctl_at 0' -a watch -d 'Show what the control plane does'
complete -c shardctl -n '__shardctl_at 0' -a place -d 'Plan, without a control plane'
complete -c shardctl -n '__shardctl_at 0' -a status -d 'Show who answers, and who leads'
complete -c shardctl -n '__shardctl_at 0' -a completion -d 'Print a completion script'
complete -c shardctl -n '__shardctl_at 0' -a version -d 'Print the version'
complete -c shardctl -n '__shardctl_at 1 get' -a 'apps servers shards'
complete -c shardctl -n '__shardctl_at 1 describe' -a 'app server shard'
complete -c shardctl -n '__shardctl_at 1 delete' -a app
complete -c shardctl -n '__shardctl_at 1 "drain|undrain"' -a 'server rack datacenter region'
complete -c shardctl -n '__shardctl_in drain' -l primaries-only -d 'Secondaries may stay'
complete -c shardctl -n '__shardctl_in drain' -l reason -x -d 'For people'
complete -c shardctl -n '__shardctl_in drain' -s w -l wait -d 'Until all are empty'
complete -c shardctl -n '__shardctl_at 1 release' -a server
complete -c shardctl -n '__shardctl_at 1 completion' -a 'bash zsh fish'
complete -c shardctl -n '__shardctl_at 1 explain' -a '(__shardctl_names apps)'
complete -c shardctl -n '__shardctl_at 2 explain' \
    -a '(__shardctl_names shards --app (__shardctl_words)[2])'
complete -c shardctl -n '__shardctl_in explain' -l on -x \
    -a '(__shardctl_names servers --app (__shardctl_words)[2])' -d 'Only this server'
complete -c shardctl -n '__shardctl_in explain' -l candidates -x -d 'Most servers that are listed'
complete -c shardctl -n '__shardctl_at 2 "get|describe|delete" "apps?"' -a '(__shardctl_names apps)'
complete -c shardctl -n '__shardctl_at 2 "get|describe|release|drain|undrain" "servers?"' -a '(__shardctl_names servers)'
complete -c shardctl -n '__shardctl_at 2 "get|describe" "shards?"' -a '(__shardctl_names shards)'
complete -c shardctl -s s -l server -x -d 'Where the control plane answers'
complete -c shardctl -l timeout -x -d 'How long to wait for one answer'
complete -c shardctl -s h -l help -d 'Show help'
complete -c shardctl -n '__shardctl_in apply' -s f -l filename -r -F -d 'YAML file'
complete -c shardctl -n '__shardctl_in apply' -l force -d 'Accept the loss of shards'
complete -c shardctl -n '__shardctl_in apply' -l dry-run -d 'Change nothing'
complete -c shardctl -n '__shardctl_in "get|describe|release|watch|drain|undrain"' -s a -l app -x \
    -a '(shardctl --timeout 2s get apps -o name 2>/dev/null)' -d 'Of this app'
complete -c shardctl -n '__shardctl_in get' -s o -l output -x -a 'table wide json yaml name spec'
complete -c shardctl -n '__shardctl_in watch' -s o -l output -x -a 'table json'
complete -c shardctl -n '__shardctl_in "status|explain"' -s o -l output -x -a 'table json yaml'
complete -c shardctl -n '__shardctl_in watch' -l no-follow -d 'End after the events known now'
complete -c shardctl -n '__shardctl_in place' -F
complete -c shardctl -n '__shardctl_in place' -l format -x -a 'yaml roadef' -d 'Of the files'
complete -c shardctl -n '__shardctl_in place' -s o -l output -r -F -a 'text json yaml'
complete -c shardctl -n '__shardctl_in place' -l time -x -d 'How long to look'
complete -c shardctl -n '__shardctl_in place' -l seed -x -d 'Of random choices'
complete -c shardctl -n '__shardctl_in place' -l dry-run -d 'Show every move; write no file'
complete -c shardctl -n '__shardctl_in delete' -s y -l yes -d 'Do not ask'
)sh";

}  // namespace

std::string CompletionScript(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return std::string(kZshStart) + kBash;
  if (shell == "fish") return kFish;
  return "";
}

}  // namespace shardmanager::cli
