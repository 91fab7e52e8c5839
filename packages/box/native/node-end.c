/*
 * Loaded by a Node that waits for its job: ends the process at once. Node's own end waits for its threads and takes its platform apart,
 * of which nobody sees anything. The few declarations of Node-API that it needs stand here, so that no headers of Node are needed.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <unistd.h>

typedef void *napi_env, *napi_value, *napi_callback_info;
int napi_create_function(napi_env env, const char *name, size_t length, napi_value (*call)(napi_env, napi_callback_info), void *data, napi_value *result);

static napi_value end(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  _exit(0);
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);
napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  napi_value function;
  return napi_create_function(env, "end", 3, end, NULL, &function) == 0 ? function : exports;
}
