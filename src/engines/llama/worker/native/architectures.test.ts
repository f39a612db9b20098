import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { expect, test } from 'vitest';
import { isSupportedArchitecture } from '../../../../gguf/architectures.ts';
import { installedBuilds } from '../../gpu-builds.ts';

/** Known to the library, and neither for text nor for embeddings: projectors, speech, and draft heads. */
const others = ['clip', 'wavtokenizer-dec', 'qwen3tts', 'pockettts', 'eagle3', 'dflash', 'gemma4-assistant'];

/** The names in the order of the enumeration of llama.cpp, by a function that is not part of its API. */
function libraryArchitectures(folder: string): readonly string[] {
  const load = (pattern: RegExp) =>
    koffi.load(join(folder, readdirSync(folder).find((name) => pattern.test(name)) ?? ''));
  load(/^(lib)?ggml-base\.(so|dylib)$/);
  load(/^(lib)?ggml\..*v\d.*\.(so|dylib)$/);
  const llama = load(/^(lib)?llama\..*v\d.*\.(so|dylib)$/);
  const nameOf = llama.func('const char *_Z13llm_arch_name8llm_arch(int architecture)');
  const names: string[] = [];
  for (let name = nameOf(0); name !== '(unknown)' && names.length < 1000; name = nameOf(names.length)) names.push(name);
  return names;
}

// Windows mangles names in another way.
test.skipIf(process.platform === 'win32')(
  'isSupportedArchitecture: those of the installed library, and no others',
  () => {
    const [files] = installedBuilds().values();
    const names = libraryArchitectures(files?.folder ?? '');
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name) => !others.includes(name) && !isSupportedArchitecture(name))).toEqual([]);
    expect(others.filter(isSupportedArchitecture)).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(['llama', 'qwen35', ...others]));
    expect(isSupportedArchitecture('made-up')).toBe(false);
  },
);
