/* A program with the boards' runtime. Its words say what it does besides the usual. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int svp_acl_init(const char *);
int svp_acl_finalize(void);
int svp_acl_rt_set_device(int32_t);
int svp_acl_rt_reset_device(int32_t);
int svp_acl_mdl_load_from_mem(const void *, size_t, uint32_t *);
int svp_acl_mdl_execute(uint32_t, const void *, const void *);
int svp_acl_mdl_unload(uint32_t);
int svp_acl_prof_init(const char *, size_t);
int svp_acl_prof_finalize(void);
void *svp_acl_prof_create_subscribe_config(int8_t, int, const void *);
int svp_acl_prof_destroy_subscribe_config(const void *);
int svp_acl_prof_model_subscribe(uint32_t, const void *);
int svp_acl_prof_model_unsubscribe(uint32_t);

static int has(int count, char **words, const char *word) {
    for (int i = 1; i < count; i++) if (strcmp(words[i], word) == 0) return 1;
    return 0;
}

int main(int count, char **words) {
    uint32_t first = 0, second = 0, none = 0;
    int data = 0, own[2];
    void *config = NULL;
    int status = svp_acl_init(has(count, words, "acl.json") ? "acl.json" : NULL);
    status |= svp_acl_rt_set_device(0);
    if (has(count, words, "own-profiler")) status |= svp_acl_prof_init("./", 2);
    status |= svp_acl_mdl_load_from_mem("model", 5, &first);
    if (svp_acl_mdl_load_from_mem("bad", 3, &none) == 0) return 20;
    if (has(count, words, "two")) status |= svp_acl_mdl_load_from_mem("model", 5, &second);
    if (has(count, words, "own-subscription")) {
        if (pipe(own) != 0) return 21;
        config = svp_acl_prof_create_subscribe_config(1, 0, &own[1]);
        status |= svp_acl_prof_model_subscribe(first, config);
    }
    for (int round = 0; round < 3 && !has(count, words, "idle"); round++) {
        status |= svp_acl_mdl_execute(first, &data, &data);
        if (second) status |= svp_acl_mdl_execute(second, &data, &data);
    }
    if (has(count, words, "dies")) { usleep(100000); abort(); }
    if (!has(count, words, "forgets")) status |= svp_acl_mdl_unload(first);
    if (second) status |= svp_acl_mdl_unload(second);
    if (config) {
        status |= svp_acl_prof_model_unsubscribe(first);
        status |= svp_acl_prof_destroy_subscribe_config(config);
    }
    if (has(count, words, "own-profiler")) status |= svp_acl_prof_finalize();
    status |= svp_acl_rt_reset_device(0);
    if (!has(count, words, "unfinished")) status |= svp_acl_finalize();
    printf("the program ends with %d\n", status);
    return status ? 22 : 0;
}
