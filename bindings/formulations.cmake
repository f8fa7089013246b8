# the extension module dualstep._formulations; needs pybind11 and the target dualstep_formulations
pybind11_add_module(_formulations MODULE
  "${CMAKE_CURRENT_LIST_DIR}/formulations.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/formulations_smooth.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/formulations_laws.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/formulations_contacts.cpp"
)
target_link_libraries(_formulations PRIVATE dualstep_formulations)
target_compile_options(_formulations PRIVATE -Wall -Wextra -Werror -ffp-contract=off)
install(TARGETS _formulations LIBRARY DESTINATION dualstep)
