# The picture of `bench_allocator --only ablation >ablation.txt`:
#   gnuplot -e "run='ablation.txt'; picture='docs/performance/ablation.svg'" bench/allocator/ablation.gnuplot
set terminal svg size 900,420 font "sans-serif,13" background "white"
set output picture
set style data histogram
set style histogram clustered gap 1.5
set style fill solid 0.8
set grid ytics
set key outside right
set yrange [0:*]
set ylabel "time, whole search = 1"
rows = "<awk '$1 == \"FIGURE\" && sub(/^ablation_/, \"\", $2) && sub(/_s$/, \"\", $2) { \
  v = $2; sub(/_[0-9]+k.*$/, \"\", v); s = substr($2, length(v) + 2); if (v == \"whole\") whole[s] = $3; \
  t[v, s] = $3 / whole[s]} \
  END {split(\"75k 375k 375k_tight 375k_balance\", sizes); for (i = 1; i <= 4; ++i) { s = sizes[i]; n = s; gsub(/_/, \" \", n); \
  print \"\\\"\" n \"\\\"\", t[\"whole\", s], t[\"grouped_targets\", s], t[\"large_first\", s], t[\"batches\", s], t[\"equivalence\", s]}}' ".run
plot rows using 2:xtic(1) lc rgb "#2471a3" title "whole", \
     rows using 3 lc rgb "#c0392b" title "no grouped targets", \
     rows using 4 lc rgb "#e67e22" title "not the largest first", \
     rows using 5 lc rgb "#7d3c98" title "no batches", \
     rows using 6 lc rgb "#7f8c8d" title "no equivalence"
