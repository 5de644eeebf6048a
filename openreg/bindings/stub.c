/* The extension module. Its only work is to exist under the name Python looks for: everything is in
 * libtorch_bindings.so, a library that other C++ code can link against too. */
#include <Python.h>

extern PyObject* initOpenRegModule(void);

PyMODINIT_FUNC PyInit__C(void) {
  return initOpenRegModule();
}
