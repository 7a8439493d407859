/* The emitted functions, compiled once, for whoever links them. */
#include "rod.h"
