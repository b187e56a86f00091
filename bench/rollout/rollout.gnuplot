# The pictures of `bench_rollout`: success at the first attempt, second by second, and which servers of
# which region restart when.
#   gnuplot -e "folder='build/rollout'; pictures='docs/performance'" bench/rollout/rollout.gnuplot
set terminal svg size 900,420 font "sans-serif,13" background "white"
set grid
set output pictures.'/rollout.svg'
set key bottom right
set xlabel "seconds"
set ylabel "requests answered at the first attempt, %"
set yrange [0:105]
# A second in which no call ended is 0 %: all clients wait.
success(calls, failed, retried) = calls > 0 ? 100.0 * (calls - failed - retried) / calls : 0
plot folder.'/rude.txt' using 1:(success($2,$3,$4)) with linespoints lc rgb "#c0392b" title "rude: killed, not asked", \
     folder.'/no_task_control.txt' using 1:(success($2,$3,$4)) with linespoints lc rgb "#7d3c98" title "SIGTERM, not asked", \
     folder.'/graceful.txt' using 1:(success($2,$3,$4)) with linespoints lw 2 lc rgb "#2471a3" title "graceful: task controller and handover"

set output pictures.'/regions.svg'
set key top left
set xlabel "seconds"
set ylabel "server"
set autoscale y
set offsets 0, 0, 1, 3
east(region, begin) = region eq "east" ? begin : 1/0
west(region, begin) = region eq "west" ? begin : 1/0
plot folder.'/regions-restarts.txt' using (east(strcol(2),$4)):1:($5-$4):(0) with vectors nohead lw 7 lc rgb "#2471a3" title "away, region east", \
     folder.'/regions-restarts.txt' using (west(strcol(2),$4)):1:($5-$4):(0) with vectors nohead lw 7 lc rgb "#d68910" title "away, region west"
