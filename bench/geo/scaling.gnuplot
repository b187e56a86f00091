# The picture of `bench_geo --only scaling`: load up, replicas up; load down, replicas down.
#   gnuplot -e "folder='build/geo/scaling'; picture='docs/performance/scaling.svg'" bench/geo/scaling.gnuplot
set terminal svg size 900,420 font "sans-serif,13" background "white"
set output picture
set grid
set key below
set xlabel "seconds"
set ylabel "requests a second, of one shard"
set y2label "replicas of one shard"
set yrange [0:250]
set y2range [0:6]
set y2tics 1
set ytics nomirror
plot folder.'/scaling.txt' using 1:2 with lines lw 2 lc rgb "#2471a3" title "requests of the shard", \
     folder.'/scaling.txt' using 1:($2/$3) with lines lw 2 lc rgb "#c0392b" title "requests of each replica (target 50)", \
     folder.'/scaling.txt' using 1:3 axes x1y2 with steps lw 2 lc rgb "#1e8449" title "replicas"
