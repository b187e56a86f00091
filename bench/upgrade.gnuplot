# The picture of `bench_upgrade`: success at the first attempt, second by second.
#   gnuplot -e "folder='build/upgrade'; picture='docs/performance/upgrade.svg'" bench/upgrade.gnuplot
set terminal svg size 900,420 font "sans-serif,13" background "white"
set output picture
set grid
set key bottom right
set xlabel "seconds"
set ylabel "requests answered at the first attempt, %"
set yrange [0:105]
success(calls, failed, retried) = calls > 0 ? 100.0 * (calls - failed - retried) / calls : 1/0
plot folder.'/neither.txt' using 1:(success($2,$3,$4)) with linespoints lc rgb "#c0392b" title "neither", \
     folder.'/no_handover.txt' using 1:(success($2,$3,$4)) with linespoints lc rgb "#7d3c98" title "drained, no handover", \
     folder.'/graceful.txt' using 1:(success($2,$3,$4)) with linespoints lw 2 lc rgb "#2471a3" title "graceful"
