#include "model/spec_validation.h"
