// The rule of a span of scalar code: scalar_vjp, which stream.hpp declares.
#pragma once

#include "exchange.hpp"

#ifndef WENGERT_COMPILED
#include "impl/sweep.ipp"
#endif
