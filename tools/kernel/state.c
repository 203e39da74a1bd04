/* Lets user-mode-linux of Debian 12 run on processors with more registers than it knows of.
 *
 * It saves 2,696 bytes of them and sets as many again, which the kernel refuses where there are more: AMX has 8 KiB.
 * The state is set whole here, with what user-mode-linux does not know left as it is.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

typedef long call(enum __ptrace_request, ...);

long ptrace(enum __ptrace_request request, ...)
{
    static char state[1 << 16];
    static call *kernel;
    if (!kernel)
        kernel = (call *)dlsym(RTLD_NEXT, "ptrace");
    va_list rest;
    va_start(rest, request);
    int pid = va_arg(rest, int);
    void *address = va_arg(rest, void *);
    struct iovec *given = va_arg(rest, struct iovec *);
    va_end(rest);
    if (request != PTRACE_SETREGSET || address != (void *)NT_X86_XSTATE)
        return kernel(request, pid, address, given);
    struct iovec whole = {state, sizeof state};
    if (kernel(PTRACE_GETREGSET, pid, address, &whole) < 0)
        return -1;
    memcpy(state, given->iov_base, given->iov_len < whole.iov_len ? given->iov_len : whole.iov_len);
    return kernel(request, pid, address, &whole);
}
