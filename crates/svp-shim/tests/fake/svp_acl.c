/* A stand-in for the boards' runtime. It behaves as the public headers and the guide say, and ends
 * the program with status 99 and a sentence when a function is called out of order, with something
 * that isn't alive any more, or with a wrong argument. What it is called with goes to FAKE_LOG. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MODELS 8
#define MAGIC 0xC0FFEE01u

typedef struct { uint32_t magic; int8_t time; int metrics; const int *pipe; int subscribed; } config;
typedef struct { int loaded, subscribed, executed; config *by; } model;
/* What is written into the pipe for a layer; only this file knows. */
typedef struct { uint32_t check, model; uint64_t start, end; char type[65], name[257]; char pad[30]; } layer;

static int initialised, finalised, configs;
static model models[MODELS];

static void wrong(const char *what, const char *function) {
    fprintf(stderr, "fake runtime: %s: %s\n", function, what);
    fflush(NULL);
    _exit(99);
}
#define MUST(condition) do { if (!(condition)) wrong(#condition, __func__); } while (0)

static void say(const char *what, long number) {
    const char *path = getenv("FAKE_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s %ld\n", what, number);
    fclose(file);
}

static uint64_t microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + (getenv("FAKE_OTHER_CLOCK") ? 77000000000ull : 0);
}

static void check_end(void) {
    if (initialised && !finalised) return; /* The program's own fault, which the library must survive. */
    for (int i = 0; i < MODELS; i++) if (models[i].subscribed) wrong("a model is still subscribed to", "exit");
    if (configs != 0) wrong("a configuration was not given back", "exit");
}

int svp_acl_init(const char *path) {
    MUST(!initialised);
    initialised = 1;
    atexit(check_end);
    say("init", path != NULL);
    usleep(300);
    return 0;
}

int svp_acl_finalize(void) {
    MUST(initialised && !finalised);
    for (int i = 0; i < MODELS; i++) MUST(!models[i].subscribed);
    MUST(configs == 0);
    finalised = 1;
    say("finalize", 0);
    return 0;
}

int svp_acl_rt_set_device(int32_t device) { MUST(initialised && device == 0); return 0; }
int svp_acl_rt_reset_device(int32_t device) { MUST(initialised && device == 0); return 0; }

int svp_acl_mdl_load_from_mem(const void *content, size_t size, uint32_t *id) {
    MUST(initialised && !finalised);
    MUST(content && size > 0 && id);
    if (memcmp(content, "bad", size < 3 ? size : 3) == 0) return 100016;
    for (uint32_t i = 1; i < MODELS; i++) {
        if (models[i].loaded) continue;
        memset(&models[i], 0, sizeof models[i]);
        models[i].loaded = 1;
        *id = i;
        say("load", i);
        usleep(2000);
        return 0;
    }
    return 100017;
}

int svp_acl_mdl_unload(uint32_t id) {
    MUST(id < MODELS && models[id].loaded);
    models[id].loaded = 0;
    say("unload", id);
    return 0;
}

static void put(int pipe, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t done = write(pipe, bytes, size);
        if (done <= 0) wrong("the pipe can't be written to", "svp_acl_mdl_execute");
        bytes += done;
        size -= (size_t)done;
    }
}

static void report(uint32_t id, int count) {
    /* The pointer was kept; what it points to must still be there, and a pipe open for writing. */
    int pipe = *models[id].by->pipe;
    int flags = fcntl(pipe, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) != O_WRONLY) wrong("the pipe's end is gone", "svp_acl_mdl_execute");
    layer *all = calloc(count, sizeof *all);
    for (int i = 0; i < count; i++) {
        all[i].check = MAGIC;
        all[i].model = id;
        all[i].start = microseconds();
        usleep(50);
        all[i].end = microseconds();
        snprintf(all[i].type, sizeof all[i].type, "%s", i % 3 == 2 ? "Softplus" : "Convolution");
        snprintf(all[i].name, sizeof all[i].name, "layer_%d%s", i, i == 1 ? "_fused+relu_1" : "");
    }
    /* In pieces that end anywhere. */
    size_t size = count * sizeof *all, first = size / 3 + 5;
    put(pipe, (char *)all, first);
    usleep(1000);
    put(pipe, (char *)all + first, size - first);
    free(all);
}

int svp_acl_mdl_execute(uint32_t id, const void *input, const void *output) {
    MUST(id < MODELS && models[id].loaded);
    MUST(input && output);
    models[id].executed = 1;
    say("execute", id);
    if (models[id].subscribed) report(id, getenv("FAKE_LAYERS") ? atoi(getenv("FAKE_LAYERS")) : 4);
    return 0;
}

int svp_acl_mdl_execute_async(uint32_t id, const void *input, const void *output, void *stream) {
    MUST(stream);
    return svp_acl_mdl_execute(id, input, output);
}

int svp_acl_rt_synchronize_stream(void *stream) { MUST(stream); return 0; }

int svp_acl_prof_init(const char *path, size_t length) {
    MUST(path && strlen(path) == length);
    for (int i = 0; i < MODELS; i++) MUST(!models[i].subscribed);
    say("prof_init", 0);
    return 0;
}
int svp_acl_prof_finalize(void) { say("prof_finalize", 0); return 0; }

void *svp_acl_prof_create_subscribe_config(int8_t time, int metrics, const void *pipe) {
    MUST(initialised && !finalised);
    MUST(time == 1 && metrics == 0 && pipe);
    int flags = fcntl(*(const int *)pipe, F_GETFL);
    MUST(flags >= 0 && (flags & O_ACCMODE) == O_WRONLY);
    config *made = calloc(1, sizeof *made);
    made->magic = MAGIC;
    made->pipe = pipe;
    configs++;
    say("create_config", 0);
    return made;
}

int svp_acl_prof_destroy_subscribe_config(const void *given) {
    config *it = (config *)given;
    MUST(it && it->magic == MAGIC && !it->subscribed);
    it->magic = 0;
    configs--;
    say("destroy_config", 0);
    free(it);
    return 0;
}

int svp_acl_prof_model_subscribe(uint32_t id, const void *given) {
    config *it = (config *)given;
    MUST(it && it->magic == MAGIC && !it->subscribed);
    MUST(id < MODELS && models[id].loaded && !models[id].subscribed && !models[id].executed);
    if (getenv("FAKE_REFUSES")) { say("refused", id); return 100007; }
    it->subscribed = models[id].subscribed = 1;
    models[id].by = it;
    say("subscribe", id);
    return 0;
}

int svp_acl_prof_model_unsubscribe(uint32_t id) {
    MUST(id < MODELS && models[id].subscribed);
    MUST(fcntl(*models[id].by->pipe, F_GETFL) >= 0);
    models[id].by->subscribed = models[id].subscribed = 0;
    say("unsubscribe", id);
    return 0;
}

int svp_acl_prof_get_op_desc_size(size_t *size) { MUST(size); *size = sizeof(layer); return 0; }

static const layer *at(const void *info, size_t length, uint32_t index) {
    MUST(info && length > 0 && length % sizeof(layer) == 0 && index < length / sizeof(layer));
    const layer *found = (const layer *)info + index;
    MUST(found->check == MAGIC);
    return found;
}

int svp_acl_prof_get_op_num(const void *info, size_t length, uint32_t *count) {
    MUST(count && at(info, length, 0));
    *count = (uint32_t)(length / sizeof(layer));
    return 0;
}
int svp_acl_prof_get_op_type_len(const void *info, size_t length, uint32_t index, size_t *size) {
    MUST(size);
    *size = strlen(at(info, length, index)->type) + 1;
    return 0;
}
int svp_acl_prof_get_op_type(const void *info, size_t length, uint32_t index, char *text, size_t size) {
    MUST(text && size >= strlen(at(info, length, index)->type) + 1);
    strcpy(text, at(info, length, index)->type);
    return 0;
}
int svp_acl_prof_get_op_name_len(const void *info, size_t length, uint32_t index, size_t *size) {
    MUST(size);
    *size = strlen(at(info, length, index)->name) + 1;
    return 0;
}
int svp_acl_prof_get_op_name(const void *info, size_t length, uint32_t index, char *text, size_t size) {
    MUST(text && size >= strlen(at(info, length, index)->name) + 1);
    strcpy(text, at(info, length, index)->name);
    return 0;
}
uint64_t svp_acl_prof_get_op_start(const void *info, size_t length, uint32_t index) { return at(info, length, index)->start; }
uint64_t svp_acl_prof_get_op_end(const void *info, size_t length, uint32_t index) { return at(info, length, index)->end; }
uint64_t svp_acl_prof_get_op_duration(const void *info, size_t length, uint32_t index) {
    return at(info, length, index)->end - at(info, length, index)->start;
}
size_t svp_acl_prof_get_model_id(const void *info, size_t length, uint32_t index) { return at(info, length, index)->model; }
