# The picture of `bench_geo --only region-loss`: what a region's clients feel when its servers are gone.
#   gnuplot -e "folder='build/geo/region-loss'; picture='docs/performance/region-loss.svg'" bench/geo/region-loss.gnuplot
set terminal svg size 900,420 font "sans-serif,13" background "white"
set output picture
set grid
set key below
set xlabel "seconds"
set ylabel "ms, the calls of a second on average"
set yrange [0:*]
lost = system("sed -nE 's/.*was lost at ([0-9.]+) s.*/\\1/p' ".folder."/region-loss.txt") + 0
back = system("sed -nE 's/.*came back at ([0-9.]+) s.*/\\1/p' ".folder."/region-loss.txt") + 0
set arrow from lost, graph 0 to lost, graph 1 nohead dt 2 lc rgb "#c0392b"
set arrow from back, graph 0 to back, graph 1 nohead dt 2 lc rgb "#1e8449"
set label "region east is killed" at lost, graph 0.95 offset 0.5,0 tc rgb "#c0392b"
set label "it comes back" at back, graph 0.95 offset 0.5,0 tc rgb "#1e8449"
plot folder.'/region-loss.txt' using 1:2 with lines lw 2 lc rgb "#2471a3" title "calls from east, of shards that prefer it", \
     folder.'/region-loss.txt' using 1:4 with lines lw 2 lc rgb "#d68910" title "calls from central, of the other shards"
