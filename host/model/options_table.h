// Options by name: one table serves Python's attributes, `dualstep_<name>` in a model file's <custom>, and
// the check of their values.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "host/model/options.h"

namespace dualstep {

// None, a flag, an integer, a number, a word of an enumeration, or an array
using OptionValue = std::variant<std::monostate, bool, long, double, std::string, std::vector<double>>;

std::vector<std::string> option_names();
OptionValue get_option(const Options& options, const std::string& name);
// all of them as numbers, in the order of the table
std::vector<double> option_numbers(const Options& options);
// a pointer to the entries of an array-valued option and their count; null for all others
double* option_array(Options& options, const std::string& name, int* count);
// throws std::invalid_argument that says what was given and what is allowed; options are then unchanged
void set_option(Options& options, const std::string& name, const OptionValue& value);
// the word to use in place of a deprecated one; "" where `word` is not deprecated
std::string replacement_of(const std::string& name, const std::string& word);
// every value out of its range, as "name: reason"
std::vector<std::pair<std::string, std::string>> invalid_options(const Options& options);
// the word nearest to `word`, or "" where none is near
std::string nearest_name(const std::string& word, const std::vector<std::string>& names);

}  // namespace dualstep
