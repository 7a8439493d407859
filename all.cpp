#include <wengert/separate_source.hpp>
