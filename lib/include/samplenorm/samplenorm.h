#pragma once

// All of the library.

#include "samplenorm/communicator.h"
#include "samplenorm/error.h"
#include "samplenorm/memory.h"
#include "samplenorm/norm.h"
#include "samplenorm/notation.h"
#include "samplenorm/sample.h"
#include "samplenorm/virtual_batch.h"
