#ifndef AH_H
#define AH_H
#include "core/address.h"
struct rhca_ah { struct ib_ah ibah; struct rhca_address address; struct rhca_address ud_address; };
#endif
