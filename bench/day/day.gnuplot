# The picture of `bench_day`: utilization of servers in the course of a day, with balance and without.
#   gnuplot -e "folder='build/day'; picture='docs/performance/day.svg'" bench/day/day.gnuplot
set terminal svg size 900,480 font "sans-serif,13" background "white"
set output picture
set grid
set key below
set xlabel "hours"
set xrange [0:24]
set xtics 3
set ylabel "utilization of servers, %"
set y2label "moves an hour"
set yrange [0:130]
set y2range [0:*]
set ytics nomirror
set y2tics
set arrow from 0, 90 to 24, 90 nohead dt 2
set label "threshold" at 0.2, 94
plot folder.'/day.txt' using 1:9 axes x1y2 with impulses lc rgb "#c8ccd0" title "moves an hour (right)", \
     folder.'/day.txt' using 1:7 with lines lw 2 lc rgb "#c0392b" title "99th percentile, without balance", \
     folder.'/day.txt' using 1:4 with lines lw 2 lc rgb "#2471a3" title "99th percentile", \
     folder.'/day.txt' using 1:3 with lines lw 2 lc rgb "#1e8449" title "median"
