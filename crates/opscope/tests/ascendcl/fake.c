/* A stand-in for libascendcl.so that checks the order, the lifetime and the arguments of every call
 * and ends the program with SIGABRT on a wrong one. It writes down the profiling calls in the file
 * that FAKE_LOG names. Recording into files makes a directory like that of FAKE_PROFILE at once and
 * fills it at the end. Everything follows the public descriptions of acl.h and acl_prof.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MODELS 8
#define MAGIC 0xACC1u
typedef struct { uint32_t magic, model; uint64_t start, end; char type[32], name[64]; } Op;
typedef struct { uint32_t magic; int started, device; } Config;
typedef struct { uint32_t magic; int *fd; } Subscription;
typedef struct { int loaded, executed, subscribed; } Model;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialised, device = -1, profiling, configs, subscriptions;
static Model models[MODELS];
static uint32_t next_model = 1;

static void say(const char *format, ...) {
    const char *path = getenv("FAKE_LOG");
    if (!path) return;
    FILE *file = fopen(path, "a");
    if (!file) return;
    va_list words;
    va_start(words, format);
    vfprintf(file, format, words);
    va_end(words);
    fputc('\n', file);
    fclose(file);
}

static void must(int holds, const char *what) {
    if (holds) return;
    say("WRONG %s", what);
    fprintf(stderr, "fake AscendCL: wrong: %s\n", what);
    abort();
}

static uint64_t micros(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int aclInit(const char *path) {
    (void)path;
    must(!initialised, "aclInit twice");
    initialised = 1;
    say("aclInit");
    return 0;
}
int aclFinalize(void) {
    must(initialised, "aclFinalize without aclInit");
    must(!profiling, "aclFinalize before aclprofFinalize");
    must(configs == 0, "aclFinalize with configurations");
    must(subscriptions == 0, "aclFinalize with a subscription configuration");
    initialised = 0;
    say("aclFinalize");
    return 0;
}
int aclrtSetDevice(int number) { must(initialised, "a device before aclInit"); device = number; return 0; }
static Config *started[16];
int aclrtResetDevice(int number) {
    must(device == number, "reset of a device that is not set");
    must(number < 16 && !started[number], "reset of a device that is being profiled");
    for (int i = 0; i < MODELS; i++) must(!models[i].subscribed, "reset of a device with a subscribed model");
    device = -1;
    say("aclrtResetDevice");
    return 0;
}
int aclmdlLoadFromFile(const char *path, uint32_t *model) {
    must(device >= 0 && path && model && next_model < MODELS, "aclmdlLoadFromFile");
    *model = next_model++;
    models[*model].loaded = 1;
    usleep(3000);
    return 0;
}
int aclmdlUnload(uint32_t model) {
    must(model < MODELS && models[model].loaded, "unloading what isn't loaded");
    must(!models[model].subscribed, "unloading a model that is subscribed");
    models[model].loaded = 0;
    return 0;
}
static Subscription *subscription;
int aclmdlExecute(uint32_t model, const void *input, void *output) {
    must(input && output && model < MODELS && models[model].loaded, "aclmdlExecute");
    models[model].executed = 1;
    uint64_t begin = micros();
    usleep(2000);
    if (models[model].subscribed) {
        Op ops[3];
        memset(ops, 0, sizeof ops);
        static const char *types[] = {"Conv2D", "Relu", "MatMul"};
        for (int i = 0; i < 3; i++) {
            ops[i].magic = MAGIC;
            ops[i].model = model;
            ops[i].start = begin + 100 + 500 * i;
            ops[i].end = ops[i].start + 400 - 100 * i;
            strcpy(ops[i].type, types[i]);
            snprintf(ops[i].name, sizeof ops[i].name, "%s_%d", types[i], i);
        }
        /* In two pieces that end within an operator. */
        must(write(*subscription->fd, ops, 200) == 200, "the pipe");
        must(write(*subscription->fd, (char *)ops + 200, sizeof ops - 200) == (ssize_t)sizeof ops - 200, "the pipe");
    }
    return 0;
}
int aclrtMemcpy(void *to, size_t size, const void *from, size_t count, int kind) {
    must(initialised && to && from && count <= size && kind >= 0, "aclrtMemcpy");
    memcpy(to, from, count);
    return 0;
}
int aclrtSynchronizeStream(void *stream) { (void)stream; must(device >= 0, "a stream without a device"); return 0; }

static char made[2048];
int aclprofInit(const char *path, size_t length) {
    must(initialised, "aclprofInit before aclInit");
    must(!profiling, "aclprofInit twice");
    must(next_model == 1, "aclprofInit after a model was loaded");
    must(subscriptions == 0, "files while something is subscribed");
    must(path && strlen(path) == length, "aclprofInit: the length of the path");
    struct stat status;
    must(stat(path, &status) == 0 && S_ISDIR(status.st_mode), "aclprofInit: the path");
    const char *profile = getenv("FAKE_PROFILE");
    if (profile) {
        const char *name = strrchr(profile, '/') + 1;
        must(snprintf(made, sizeof made, "%s/%s", path, name) < (int)sizeof made, "a long path");
        must(mkdir(made, 0750) == 0, "the directory of the profile");
    }
    profiling = 1;
    say("aclprofInit");
    return 0;
}
void *aclprofCreateConfig(const uint32_t *devices, uint32_t count, int metrics, const void *events, uint64_t mask) {
    must(profiling && devices && count == 1 && (int)devices[0] == device && !events, "aclprofCreateConfig");
    must(metrics >= 0 && metrics <= 0xFF && mask != 0, "aclprofCreateConfig: metrics or mask");
    Config *config = calloc(1, sizeof *config);
    config->magic = MAGIC;
    config->device = device;
    configs++;
    say("aclprofCreateConfig %d %llx", metrics, (unsigned long long)mask);
    return config;
}
int aclprofStart(const void *address) {
    Config *config = (Config *)address;
    must(config && config->magic == MAGIC && !config->started && device >= 0, "aclprofStart");
    config->started = 1;
    started[config->device] = config;
    say("aclprofStart");
    return 0;
}
int aclprofStop(const void *address) {
    Config *config = (Config *)address;
    must(config && config->magic == MAGIC && config->started && device >= 0, "aclprofStop");
    config->started = 0;
    started[config->device] = NULL;
    say("aclprofStop");
    return 0;
}
int aclprofDestroyConfig(const void *address) {
    Config *config = (Config *)address;
    must(config && config->magic == MAGIC && !config->started, "aclprofDestroyConfig");
    config->magic = 0;
    configs--;
    say("aclprofDestroyConfig");
    return 0;
}
int aclprofFinalize(void) {
    must(profiling && configs == 0, "aclprofFinalize");
    profiling = 0;
    if (*made) {
        char command[5000];
        snprintf(command, sizeof command, "cp -r '%s/.' '%s'", getenv("FAKE_PROFILE"), made);
        must(system(command) == 0, "copying the profile");
        /* With FAKE_NOW the copy has the clock of this run: what was read at its begin is read now. */
        if (getenv("FAKE_NOW")) {
            snprintf(command, sizeof command,
                     "cd '%s' && sed -i 's/1000000000000/%llu000/' host/start_info host/host_start.log "
                     "device_0/start_info.0 device_0/host_start.log.0", made, (unsigned long long)micros());
            must(system(command) == 0, "giving the profile another clock");
        }
    }
    say("aclprofFinalize");
    return 0;
}

void *aclprofCreateSubscribeConfig(int8_t times, int metrics, void *fd) {
    must(initialised && !profiling, "a subscription while files are recorded");
    must(times == 1 && metrics == 0xFF && fd, "aclprofCreateSubscribeConfig");
    must((fcntl(*(int *)fd, F_GETFL) & O_ACCMODE) == O_WRONLY, "the descriptor is not the end for writing");
    subscription = calloc(1, sizeof *subscription);
    subscription->magic = MAGIC;
    subscription->fd = fd;
    subscriptions++;
    say("aclprofCreateSubscribeConfig");
    return subscription;
}
int aclprofDestroySubscribeConfig(const void *address) {
    must(address == subscription && subscription->magic == MAGIC, "aclprofDestroySubscribeConfig");
    for (int i = 0; i < MODELS; i++) must(!models[i].subscribed, "destroyed while a model is subscribed");
    must((fcntl(*subscription->fd, F_GETFL) & O_ACCMODE) == O_WRONLY, "the pipe was closed too early");
    subscription->magic = 0;
    subscriptions--;
    say("aclprofDestroySubscribeConfig");
    return 0;
}
int aclprofModelSubscribe(uint32_t model, const void *address) {
    must(address == subscription && subscription->magic == MAGIC, "aclprofModelSubscribe: the configuration");
    must(model < MODELS && models[model].loaded && !models[model].subscribed, "aclprofModelSubscribe: the model");
    must(!models[model].executed, "aclprofModelSubscribe after an execution");
    models[model].subscribed = 1;
    say("aclprofModelSubscribe %u", model);
    return 0;
}
int aclprofModelUnSubscribe(uint32_t model) {
    must(model < MODELS && models[model].subscribed, "aclprofModelUnSubscribe");
    models[model].subscribed = 0;
    say("aclprofModelUnSubscribe %u", model);
    return 0;
}
int aclprofGetOpDescSize(size_t *size) { must(size != NULL, "aclprofGetOpDescSize"); *size = sizeof(Op); return 0; }
static const Op *op(const void *data, size_t length, uint32_t index) {
    must(data && length % sizeof(Op) == 0 && index < length / sizeof(Op), "the length or index of operators");
    const Op *found = (const Op *)data + index;
    must(found->magic == MAGIC, "operators that are cut or shifted");
    return found;
}
int aclprofGetOpNum(const void *data, size_t length, uint32_t *count) {
    op(data, length, 0);
    *count = length / sizeof(Op);
    return 0;
}
int aclprofGetOpTypeLen(const void *d, size_t l, uint32_t i, size_t *n) { *n = strlen(op(d, l, i)->type) + 1; return 0; }
int aclprofGetOpNameLen(const void *d, size_t l, uint32_t i, size_t *n) { *n = strlen(op(d, l, i)->name) + 1; return 0; }
int aclprofGetOpType(const void *d, size_t l, uint32_t i, char *text, size_t n) {
    must(text && n > strlen(op(d, l, i)->type), "aclprofGetOpType");
    strcpy(text, op(d, l, i)->type);
    return 0;
}
int aclprofGetOpName(const void *d, size_t l, uint32_t i, char *text, size_t n) {
    must(text && n > strlen(op(d, l, i)->name), "aclprofGetOpName");
    strcpy(text, op(d, l, i)->name);
    return 0;
}
uint64_t aclprofGetOpStart(const void *d, size_t l, uint32_t i) { return op(d, l, i)->start; }
uint64_t aclprofGetOpEnd(const void *d, size_t l, uint32_t i) { return op(d, l, i)->end; }
uint64_t aclprofGetOpDuration(const void *d, size_t l, uint32_t i) { return op(d, l, i)->end - op(d, l, i)->start; }
size_t aclprofGetModelId(const void *d, size_t l, uint32_t i) { return op(d, l, i)->model; }
