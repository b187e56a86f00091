import sys

from mutation import main

sys.exit(main.main(sys.argv[1:]))
