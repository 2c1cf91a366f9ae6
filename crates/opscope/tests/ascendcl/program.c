/* What an inference program does with AscendCL. Arguments: a configuration file or "-", then words:
 * "leave" ends without finalising, "profile" profiles itself. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
int aclInit(const char *); int aclFinalize(void); int aclrtSetDevice(int); int aclrtResetDevice(int);
int aclmdlLoadFromFile(const char *, uint32_t *); int aclmdlUnload(uint32_t);
int aclmdlExecute(uint32_t, const void *, void *); int aclrtSynchronizeStream(void *);
int aclrtMemcpy(void *, size_t, const void *, size_t, int);
int aclprofInit(const char *, size_t); int aclprofFinalize(void);
int main(int count, char **words) {
    const char *config = count > 1 && strcmp(words[1], "-") ? words[1] : NULL;
    const char *mode = count > 2 ? words[2] : "";
    char from[64] = "pixels", to[64];
    uint32_t model = 0;
    assert(aclInit(config) == 0 && aclrtSetDevice(0) == 0 && aclrtSetDevice(0) == 0);
    if (!strcmp(mode, "profile")) assert(aclprofInit("/tmp", 4) == 0 && aclprofFinalize() == 0);
    assert(aclmdlLoadFromFile("net.om", &model) == 0);
    for (int i = 0; i < 5; i++) {
        assert(aclrtMemcpy(to, sizeof to, from, sizeof from, 1) == 0);
        assert(aclmdlExecute(model, from, to) == 0);
        assert(aclrtSynchronizeStream(NULL) == 0);
    }
    puts("inferred");
    if (!strcmp(mode, "leave")) return 0;
    assert(aclmdlUnload(model) == 0 && aclrtResetDevice(0) == 0 && aclFinalize() == 0);
    return 0;
}
