# The picture of `bench_allocator --only scale >scale.txt`:
#   gnuplot -e "run='scale.txt'; picture='docs/performance/scale.svg'" bench/allocator/scale.gnuplot
set terminal svg size 700,420 font "sans-serif,13" background "white"
set output picture
set logscale xy
set grid
set key top left
set xrange [5e4:4e6]
set xlabel "replicas"
set ylabel "processor seconds, building included"
figures = "<awk '$1 == \"FIGURE\" && match($2, /^alloc_[0-9]+k_s$/) \
  {n = $2; gsub(/[^0-9]/, \"\", n); print n * 1000, $3}' ".run
stats figures using ($2/$1) name "slope" nooutput
plot figures using 1:2 with linespoints lw 2 pt 7 lc rgb "#2471a3" title "all goals", \
     figures using 1:2:(sprintf("%.2f s", $2)) with labels offset 0,1 notitle, \
     slope_min * x with lines dt 2 lc rgb "black" title "in proportion to the replicas"
