# The picture of `bench_geo --only demand`: nobody says where the partners are.
#   gnuplot -e "folder='build/geo/demand'; picture='docs/performance/demand.svg'" bench/geo/demand.gnuplot
load 'bench/geo/follow.gnuplot'
