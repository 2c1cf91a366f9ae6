/*
 * Marks and ranges for a timeline, recorded while somebody collects:
 *
 *     opscope collect -- ./program
 *
 * Link with -lopscope_mark. While nobody collects, a call costs a nanosecond or two.
 *
 *     opscope_push("preprocess");
 *     ...
 *     opscope_pop();
 *
 * All functions may be called from any thread. Texts are copied; they may be as long as 16 KiB and
 * should be UTF-8 (what isn't is replaced).
 */
#ifndef OPSCOPE_MARK_H
#define OPSCOPE_MARK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether marks are recorded now: 1 or 0. Worth asking before a text is put together. */
int32_t opscope_mark_enabled(void);

/* Marks an instant. */
void opscope_mark(const char *text);

/* Begins a range on the calling thread; returns its depth from 1, or 0 when nothing is recorded. */
int32_t opscope_push(const char *text);

/* Ends the innermost range of the calling thread; returns the depth it had, 0 if there was none. */
int32_t opscope_pop(void);

/* Begins a range that any thread may end; returns its number, or 0 when nothing is recorded. */
uint64_t opscope_range_start(const char *text);

/* Ends a range; returns 1 if there was one of that number, else 0. */
int32_t opscope_range_end(uint64_t number);

/* A namespace for texts, to be kept and given to the calls below; never 0. */
uint64_t opscope_domain(const char *name);

/* The same with a domain (0: none), a number that groups marks, and a value of your own. */
void opscope_mark_in(uint64_t domain, const char *text, uint32_t category, uint64_t payload);
int32_t opscope_push_in(uint64_t domain, const char *text, uint32_t category, uint64_t payload);
uint64_t opscope_range_start_in(uint64_t domain, const char *text, uint32_t category, uint64_t payload);

/*
 * The stamps of acl.prof, as acl_prof.h declares them, for programs that are built without CANN.
 * All answer 0 for success. With CANN, include its header and link its library instead.
 */
#ifdef OPSCOPE_ACL_PROF
int aclprofInit(const char *path, size_t length);
int aclprofFinalize(void);
void *aclprofCreateConfig(uint32_t *devices, uint32_t count, int metrics, const void *events, uint64_t mask);
int aclprofDestroyConfig(const void *config);
int aclprofSetConfig(int kind, const char *text, size_t length);
int aclprofStart(const void *config);
int aclprofStop(const void *config);
void *aclprofCreateStamp(void);
void aclprofDestroyStamp(void *stamp);
int aclprofSetStampTraceMessage(void *stamp, const char *text, uint32_t length);
int aclprofSetStampCategory(void *stamp, uint32_t category);
int aclprofSetStampPayload(void *stamp, int32_t type, const void *value);
int aclprofSetCategoryName(uint32_t category, const char *name);
int aclprofMark(void *stamp);
int aclprofMarkEx(const char *text, size_t length, void *stream);
int aclprofPush(void *stamp);
int aclprofPop(void);
int aclprofRangeStart(void *stamp, uint32_t *number);
int aclprofRangeStop(uint32_t number);
#endif

#ifdef __cplusplus
}
#endif

#endif
