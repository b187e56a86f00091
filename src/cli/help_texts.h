// What `shardctl --help` and `shardctl COMMAND --help` say beside the list of flags.
#pragma once

namespace shardmanager::cli {

inline constexpr char kAbout[] =
    R"(shardctl: talk to the control plane of Shard Manager.

An app is a sharded service; its specification, a YAML file, says what its owner
wants. The control plane places the app's shards on the servers that are there.)";

inline constexpr char kFooter[] = R"(
First steps:
  shardctl apply -f kv.yaml            create the app, or change it
  shardctl get apps                    is it served?
  shardctl get servers --app kv        who is there, and who is lost?
  shardctl describe shard shard-007    who serves it, and if nobody, why?
  shardctl explain kv shard-007        why is it there and not elsewhere?
  shardctl drain server kv-3 --wait    move everything off it, ahead of planned work
  shardctl rollout status kv --wait    stay until all restarts that were asked for are over
  shardctl simulate --app kv --lose region=eu-west    what would follow?
  shardctl watch                       what the control plane does, as it happens
  shardctl history changes             who changed what, days back
  shardctl place problem.yaml          the allocator alone, without a control plane
Exit codes:
  0  done
  1  refused by the control plane, or failed
  2  wrong command line or bad file; nothing was changed
  3  the control plane does not answer
  4  no such app, server or shard
  5  of `status`: it answers, and something is wrong or not known
Environment:
  SHARDCTL_SERVER  where the control plane answers, instead of --server
  NO_COLOR         set to anything: no colours (there are none in pipes, anyhow)
`shardctl COMMAND --help` shows examples of each command.)";

inline constexpr char kApplyFooter[] = R"(
Each YAML document is one app; the fields are those of app_spec.proto. All files are
read before anything is changed, and of several apps none is changed unless the control plane would
take all of them. A change that would lose shards or hand keys to other shards is refused unless
--force is given.
Examples:
  shardctl apply -f kv.yaml                 create or change the app
  shardctl apply -f kv.yaml --dry-run       what would change? changes nothing
  shardctl apply -f a.yaml b.yaml           several
  generate-spec | shardctl apply -f -       from the standard input
  shardctl get app kv -o spec > kv.yaml     the other way round)";

inline constexpr char kGetFooter[] = R"(
Formats: table; wide, a table with more columns (shards: with their epochs); json and
yaml, all that is known; name, one a line; spec (apps only), what `apply` takes.
Shards need --app if there are several apps; where a shard has several replicas, the primary
is marked with a star.
Examples:
  shardctl get apps
  shardctl get servers --app kv -o wide
  shardctl get shards --app kv
  shardctl get shards --app kv --unserved       those that clients cannot use
  shardctl get shards --app kv --on kv-3        those with a replica there
  shardctl get operations --app kv              what cluster managers want, and why it waits
  shardctl get grants                           who has which role, but by certificates
  shardctl get shard shard-007 -o json | jq -r '.shards[0].replicas[0].server')";

inline constexpr char kCellStatusHelp[] = R"(
Asks the process that -s names, and the leader for the apps. Exit code: 0, a leader answers
and nothing is wrong; 5, something is wrong, or the state of the cell is not known; 3, nobody
answers. What each reason means: docs/operations.md, "What can be wrong".
Examples:
  shardctl status
  shardctl status -o json | jq -r '.problems[].message'
  shardctl status -s sm-1:7400,sm-2:7400        the first of them that can be reached)";

inline constexpr char kDescribeFooter[] = R"(
Examples:
  shardctl describe app kv
  shardctl describe server kv-3
  shardctl describe shard shard-007 --app kv
  shardctl describe operation rollout-42/kv-3)";

inline constexpr char kExplainFooter[] = R"(
Says what the shard waits for; what speaks against the places of its replicas; and for
other servers whether a replica would be better there, and what decides. Asked of the
same rules as the plans. The first goal that differs decides alone: constraint, region
preference, spread, maintenance, no return, utilization, balance, regional balance.
Examples:
  shardctl explain kv shard-007                    why is it there? what does it wait for?
  shardctl explain kv shard-007 --on kv-3          why is it not on kv-3?
  shardctl explain operation rollout-42/kv-3       what does it wait for, and what ends that?
  shardctl explain kv shard-007 --candidates 100 -o json | jq '.refused')";

inline constexpr char kDrainFooter[] = R"(
The servers get nothing new, and what they hold moves away, within the app's move budgets.
They stay so, also after a restart of anything, until `shardctl undrain`. A server is named
as in `get servers`; a fault domain by its path: REGION, REGION/DATACENTER or
REGION/DATACENTER/RACK.
Examples:
  shardctl drain server kv-3                       order it; `get servers` shows how far it is
  shardctl drain server kv-3 --wait                and stay until it is empty
  shardctl drain server kv-3 --dry-run             how much would have to move?
  shardctl drain rack eu-west/dub1/r07 --reason "switch upgrade"
  shardctl drain region eu-west --app kv           of one app only
  shardctl undrain server kv-3)";

inline constexpr char kUndrainFooter[] = R"(
What `shardctl drain` ordered is over: the servers may be given shards again. What has moved does
not come back for that alone; balance uses the servers again where that helps. Name what the drain
named: a server, or the path of a fault domain. `get apps -o wide` and `describe app` list drains.
Examples:
  shardctl undrain server kv-3
  shardctl undrain rack eu-west/dub1/r07
  shardctl undrain region eu-west --app kv         of one app only
  shardctl undrain server kv-3 --dry-run           is there a drain, and of which apps?)";

inline constexpr char kDeleteFooter[] = R"(
All servers drop their shards of the app; then the control plane forgets it. What the
app itself stored is not touched.
Examples:
  shardctl delete app kv          asks first
  shardctl delete app kv --yes    does not, for scripts)";

inline constexpr char kReleaseFooter[] = R"(
For a server whose assignment record cannot be read (`shardctl get apps` says so). What
the record may have granted is given up and placed anew, so the server must be stopped
first. The record's bytes are kept.
Examples:
  shardctl release server kv-3 --app kv)";

inline constexpr char kApproveFooter[] = R"(
Container operations wait for the limits of the app's spec (availability) and for what has
to leave the server. `describe operation` says what one waits for. This approves it all the
same: what it stops is gone at once, and nothing is moved away before. The event
OperationForced says who did it.
Examples:
  shardctl get operations --app kv
  shardctl describe operation rollout-42/kv-3
  shardctl approve operation rollout-42/kv-3 --force)";

inline constexpr char kEndFooter[] = R"(
An operation that has begun counts as down until its manager says that it is finished, or its
server is seen in a new life. If the manager is gone for good, say here that it is over; make
sure first that nothing stops the container any more. The event OperationEnded says who did it.
Examples:
  shardctl get operations --app kv -o wide
  shardctl end operation rollout-42/kv-3 --app kv)";

inline constexpr char kPauseFooter[] = R"(
While an app is paused nothing of it is moved, and no container operation is approved or begins;
what is under way is finished. What is lost stays lost, unless --failover is given. A pause
outlasts restarts and new leaders. `describe app` shows who paused it, and why.
With --only-balance just balance stops: what has to leave its server moves, what is lost is given
to other servers, and container operations go on.
Examples:
  shardctl pause app kv --failover --reason "network work in dub1"
  shardctl pause app kv --only-balance --reason "a load test: leave all where it is"
  shardctl resume app kv)";

inline constexpr char kPinFooter[] = R"(
A pinned shard stays where it is: no replica of it goes to another server, and its primary does
not change, for balance, a drain, a container operation or a maintenance. What is lost is given
to other servers all the same. A pin outlasts restarts and new leaders. `describe shard` shows who
pinned it, and why; `describe app` lists all pins.
Examples:
  shardctl pin shard shard-3 --app kv --reason "its data is being repaired by hand"
  shardctl unpin shard shard-3 --app kv)";

inline constexpr char kPreferFooter[] = R"(
One replica of the shard should be in the region, and the primary if there is one. It moves there
within the app's budgets, or stays where it is until the region has servers and room. What is
ordered here goes before Shard.preferred_region and placement.preferred_region of the spec, and stays
when a new spec is applied. Lines of a file: a shard, blanks, a region (- for what the spec says),
perhaps blanks and a weight; # begins a comment. If one line is wrong, nothing is changed. Where the
region has not room for all, those that weigh more are there. `describe app` shows how far it is.
Examples:
  shardctl prefer users-0042 eu-west --app kv
  shardctl prefer users-0007 eu-west --weight 10 --app kv
  shardctl prefer --file regions.txt --replace --app kv)";

inline constexpr char kSplitFooter[] = R"(
The application is asked first, on each server that holds the shard; if one does not agree, nothing is
changed. Then the parts take the shard's place where it is, and may move afterwards. No request is
lost: those in flight end first, others wait for a moment. The parts are new shards: the other shards
keep their names, and the stored spec names all shards one by one from then on
(`shardctl get apps -o yaml`), so put that into your file before you apply it again. A key is text, in
which \xHH is a byte; with --form u64 it is a number of 8 bytes.
Examples:
  shardctl split users-3 --at k --app kv --wait
  shardctl split orders --at 1000 --at 2000 --form u64 --into orders-a,orders-b,orders-c --app shop)";

inline constexpr char kMergeFooter[] = R"(
The application is asked first, on each server that holds one of the shards; if one does not agree,
nothing is changed. Then the shards are moved to the servers of the first one, as the app's limits for
moves allow, and replaced there by one. No request is lost: those in flight end first, others wait for
a moment. `describe shard` shows what a merge waits for. As for a split, put the stored spec into your
file before you apply it again.
Example:
  shardctl merge users-3.0 users-3.1 --into users-3m --app kv --wait)";

inline constexpr char kMaintenanceFooter[] = R"(
Before a maintenance begins, what the app's spec says leaves its servers: primaries, and where data or
machines are lost, all replicas (drain.prepare_ms: how long before). While it lasts, they are given
nothing, and those that are away are not given up. `list` names the shards that it will hit all the
same. A fault domain is named by its path: REGION, REGION/DATACENTER or REGION/DATACENTER/RACK.
Examples:
  shardctl maintenance add change-4711 datacenter eu-west/dub1 --impact network-loss \
      --in 10m --for 2h --reason "new switches"
  shardctl maintenance add change-4711 datacenter eu-west/dub1 --impact network-loss --for 3h
                                                   it begins now, and takes longer
  shardctl maintenance add retire-m12 server kv-3 --impact machine-loss --start 2026-03-01T12:00Z
  shardctl maintenance list
  shardctl maintenance list change-4711            and each shard that it hits
  shardctl maintenance cancel change-4711)";

inline constexpr char kRolloutFooter[] = R"(
A rollout: the operations of one cluster manager whose ids share what stands before the last "/", as
in rollout-42/kv-3. "-": those whose ids have none. LEFT is a forecast for all operations of the app
together, as they share its limits: if they go on as so far. WHY names what most of them wait for, or
why there is no forecast. Counts begin anew with each leader (-o wide: SEEN-FOR); a rollout that is
over is shown for an hour. With --wait and -o json or yaml only the end is shown.
Examples:
  shardctl rollout status
  shardctl rollout status kv -o wide               also how many may be under way at once
  shardctl rollout status kv --wait                and stay until nothing is left
  shardctl get operations --app kv                 one by one)";

inline constexpr char kTopFooter[] = R"(
As servers counted in their last two collections or so (moves.collect_interval_ms); each tells of its 6
busiest shards, and of 2 with errors. OF-SERVER: the rate of the busiest replica, or of the key at its
busiest server, as a part of what a live server of the app has on average. P50 and P99: half, and 99 in
100, of the requests took less; upper bounds, to a factor of two. ERR/S: as far as the application says
how requests end. Keys are those that routers name, on one request in 64; two numbers are bounds. At
most 20 keys are known.
Examples:
  shardctl top shards kv
  shardctl top keys kv -n 5
  shardctl top shards kv -o json)";

inline constexpr char kWatchFooter[] = R"(
Events since the control plane's leader started, oldest first, then new ones as they
come; goes on with the next leader when that one goes. Ends on Ctrl-C.
Examples:
  shardctl watch --app kv
  shardctl watch --no-follow -o json | jq -r .kind | sort | uniq -c)";

inline constexpr char kSnapshotFooter[] = R"(
The app's spec and orders, its servers, and its shards with their loads, as JSON: AppSnapshot in
what_if.proto.
Examples:
  shardctl snapshot --app kv -o kv.json)";

inline constexpr char kSimulateFooter[] = R"(
The control plane's own decisions are made on a copy of the app, in this process: nothing is changed
anywhere. All that is asked for happens at once; then time passes until the app is at rest. New replicas
carry what others of their shard do. Not known here: container operations, maintenances, quarantines,
and how long a loss takes to be noticed. LEVEL=NAME as `drain` has it: server=kv-3, rack=REGION/DC/RACK,
datacenter=REGION/DC, region=REGION.
Examples:
  shardctl simulate --app kv --lose region=eu-west
  shardctl simulate --app kv --drain rack=eu-west/dub1/r07 --add-servers 4@eu-west
  shardctl simulate --app kv --load-factor 1.5 -o json
  shardctl simulate --snapshot kv.json --spec kv-new.yaml)";

inline constexpr char kCapacityFooter[] = R"(
Each region's loss is played as `simulate --lose` does, with more and more servers in the others, until
every shard is served, no server is above a threshold, and no shard lacks a replica that it could have.
Fewer servers than there are now are never proposed. It takes a few hundred such plays.
Examples:
  shardctl capacity --app kv
  shardctl capacity --app kv --load-factor 1.5
  shardctl capacity --snapshot friday.json -o json)";

inline constexpr char kPlaceFooter[] = R"(
Asks no control plane: reads a problem, writes a plan, moves nothing. The fields are
those of PlacementProblem in placer.proto; docs/data-placer.md lists them all.
A problem:
  metrics: [cpu]
  servers:
  - {name: a, region: east, capacity: [{metric: cpu, amount: 8}]}
  - {name: b, region: west, capacity: [{metric: cpu, amount: 8}]}
  - {name: c, region: west, capacity: [{metric: cpu, amount: 8}], draining: true}
  shards:
  - {name: s1, replicas: 2, load: [{metric: cpu, amount: 1.5}], servers: [a, c]}
  - {name: s2, load: [{metric: cpu, amount: 3}], preferred_region: west}
  constraints:                              # these two are the default
  - capacity: {metric: cpu}
  - exclusion: {scope: server}
  goals:
  - {drain: {}, priority: 1}
  - {spread: {scope: region}, priority: 2}
  - {balance: {metric: cpu}, priority: 3}
Outputs: text, tables of before and after; json and yaml, all that is known of the plan;
else the name of a file, which gets the problem with its shards where they should be.
The text of roadef is an assignment, for the standard output or the file.
Examples:
  shardctl place problem.yaml                    what would be better, and how much
  shardctl place problem.yaml --dry-run          every move as well; writes no file
  shardctl place problem.yaml -o new.yaml        the problem after the plan
  shardctl place problem.yaml -o json | jq '.moves | length'
  shardctl place problem.yaml --steps 50000000   the same plan each time, on any machine
  shardctl place problem.yaml --time 5m --threads 16
  shardctl place problem.yaml --progress         what the best plan costs, second by second
  shardctl place --format=roadef model.txt assignment.txt -o new.txt --time 300s
Exit code 1: no plan was found that keeps all constraints; the best one is shown.)";

inline constexpr char kCompletionFooter[] = R"(
Examples:
  source <(shardctl completion bash)                               # in ~/.bashrc
  source <(shardctl completion zsh)                                # in ~/.zshrc
  shardctl completion fish > ~/.config/fish/completions/shardctl.fish)";

}  // namespace shardmanager::cli
