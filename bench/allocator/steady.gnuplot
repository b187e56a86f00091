# The picture of `bench_allocator --only steady --csv day.csv`:
#   gnuplot -e "csv='day.csv'; picture='docs/performance/steady.svg'" bench/allocator/steady.gnuplot
set terminal svg size 900,560 font "sans-serif,13" background "white"
set output picture
set datafile separator ","
set multiplot layout 2,1
set xrange [0:24]
set xtics 3
set grid
set key top left horizontal
set ylabel "cpu, part of capacity"
set yrange [0.3:1.3]
plot csv using 1:4 skip 1 with lines lc rgb "#c0c0c0" title "P99, left alone", \
     csv using 1:3 skip 1 with lines lw 2 lc rgb "#c0392b" title "P99", \
     csv using 1:2 skip 1 with lines lw 2 lc rgb "#2471a3" title "mean", \
     0.9 with lines dt 2 lc rgb "black" title "threshold"
set yrange [0:*]
set xlabel "hour of the day"
set ylabel "moves in 5 minutes"
plot csv using 1:5 skip 1 with impulses lc rgb "#7d3c98" title "moves"
