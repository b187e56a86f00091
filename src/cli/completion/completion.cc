#include "cli/completion/completion.h"

namespace shardmanager::cli {
namespace {

// The words are cut out of the line by hand: bash also cuts at ":" (COMP_WORDBREAKS), as in
// "--server host:port", and puts what is completed behind the last ":".
constexpr char kBash[] = R"sh(# Completion of shardctl.
_shardctl() {
  local line="${COMP_LINE:0:COMP_POINT}" answer words current prefix=""
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  current="${words[${#words[@]}-1]}"
  [[ "$current" == *:* && "$COMP_WORDBREAKS" == *:* ]] && prefix="${current%"${current##*:}"}"
  COMPREPLY=()
  while IFS= read -r answer; do
    if [[ "$answer" == :files ]]; then
      while IFS= read -r answer; do COMPREPLY+=("$answer"); done < <(compgen -f -- "$current")
    else
      answer="${answer%%$'\t'*}"
      COMPREPLY+=("${answer#"$prefix"}")
    fi
  done < <(shardctl __complete "${words[@]:1}" 2>/dev/null)
}

complete -F _shardctl shardctl
)sh";

constexpr char kZsh[] = R"sh(#compdef shardctl
# Completion of shardctl.
_shardctl() {
  local answer description files=0
  local -a candidates
  while IFS= read -r answer; do
    if [[ "$answer" == :files ]]; then
      files=1
    else
      description="${answer#*$'\t'}"
      candidates+=("${${answer%%$'\t'*}//:/\\:}${description:+:$description}")
    fi
  done < <(shardctl __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#candidates )) && _describe -V 'shardctl' candidates
  (( files )) && _files
}

(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _shardctl shardctl
)sh";

constexpr char kFish[] = R"sh(# Completion of shardctl.
function __shardctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for answer in (shardctl __complete $words[2..-1] "$current" 2>/dev/null)
        if test "$answer" = :files
            __fish_complete_path "$current"
        else
            printf '%s\n' $answer
        end
    end
end

complete -c shardctl -f -a '(__shardctl_complete)'
)sh";

}  // namespace

std::string CompletionScript(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return "";
}

}  // namespace shardmanager::cli
