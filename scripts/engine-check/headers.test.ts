import { expect, test } from 'vitest';
import { readHeaders } from './headers.ts';

const header = `
#define MAX_CORES 512 // of a mask
#define FLAG_PART 1
/* typedef int not_this; */
typedef int32_t token_t;
typedef struct memory * memory_t;
typedef bool (*callback_t)(float progress, void * data);
enum mode { MODE_AUTO = -1, MODE_NONE, MODE_MAP, MODE_BOTH = 1 << 3, MODE_LAST };
struct params {
    const char * path;   // first
    bool  on;
    enum mode mode;
    bool  mask[MAX_CORES];
    callback_t callback;
    size_t count;
};
struct override {
    enum mode tag;
    char key[128];
    union {
        int64_t val_int;
        bool    val_bool;
        char    val_text[128];
    };
};
LLAMA_API struct params default_params(void);
LLAMA_API bool remove_tokens(memory_t memory, token_t from, const token_t * list,
                             size_t n_list);
DEPRECATED(LLAMA_API int32_t old(struct params params, uint32_t), "use another");
`;

test('readHeaders: how the result and the parameters of functions are passed', () => {
  expect(readHeaders([header]).functions).toEqual({
    default_params: 'params()',
    remove_tokens: 'bool(pointer, int32, pointer, uint64)',
    old: 'int32(params, uint32)',
  });
});

test('readHeaders: the fields of structs with the padding of a 64-bit system', () => {
  expect(readHeaders([header]).structs).toEqual({
    params: [
      { name: 'path', kind: 'pointer', offset: 0, size: 8 },
      { name: 'on', kind: 'bool', offset: 8, size: 1 },
      { name: 'mode', kind: 'int32', offset: 12, size: 4 },
      { name: 'mask', kind: 'bool', offset: 16, size: 512 },
      { name: 'callback', kind: 'pointer', offset: 528, size: 8 },
      { name: 'count', kind: 'uint64', offset: 536, size: 8 },
    ],
    override: [
      { name: 'tag', kind: 'int32', offset: 0, size: 4 },
      { name: 'key', kind: 'int8', offset: 4, size: 128 },
      { name: 'val_int', kind: 'int64', offset: 136, size: 8 },
      { name: 'val_bool', kind: 'bool', offset: 136, size: 1 },
      { name: 'val_text', kind: 'int8', offset: 136, size: 128 },
    ],
  });
});

test('readHeaders: the values of enumerators and of macros', () => {
  expect(readHeaders([header]).constants).toEqual({
    MAX_CORES: 512,
    FLAG_PART: 1,
    MODE_AUTO: -1,
    MODE_NONE: 0,
    MODE_MAP: 1,
    MODE_BOTH: 8,
    MODE_LAST: 9,
  });
});

test('readHeaders: leaves out a struct with a field that it does not understand', () => {
  expect(readHeaders(['struct odd { int bits : 3; };']).structs).toEqual({});
});
