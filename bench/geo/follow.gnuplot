# The picture of `bench_geo --only follow`: shards follow their partners to other regions.
#   gnuplot -e "folder='build/geo/follow'; picture='docs/performance/follow.svg'" bench/geo/follow.gnuplot
set terminal svg size 900,420 font "sans-serif,13" background "white"
set output picture
set grid
set key below
set xlabel "seconds"
set ylabel "ms, the calls of a second on average"
set yrange [0:*]
do for [batch = 1:2] {
  line = sprintf("sed -nE 's/# batch %d: moved at ([0-9.]+) s, ordered at ([0-9.]+) s/", batch)
  moved = system(line."\\1/p' ".folder."/follow.txt") + 0
  ordered = system(line."\\2/p' ".folder."/follow.txt") + 0
  set arrow from moved, graph 0 to moved, graph 1 nohead dt 2 lc rgb "#c0392b"
  set label "partners move" at moved, graph 0.97 right offset -0.5,0 tc rgb "#c0392b"
  if (ordered == 0) {continue}
  set arrow from ordered, graph 0 to ordered, graph 1 nohead dt 2 lc rgb "#1e8449"
  set label "shards are told" at ordered, graph 0.97 offset 0.5,0 tc rgb "#1e8449"
}
plot folder.'/follow.txt' using 1:2 with lines lw 2 lc rgb "#2471a3" title "first batch, one region on", \
     folder.'/follow.txt' using 1:3 with lines lw 2 lc rgb "#d68910" title "second batch, two regions on", \
     folder.'/follow.txt' using 1:4 with lines lw 2 lc rgb "#909497" title "shards whose partners stay"
