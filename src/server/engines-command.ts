import { readFileSync, statSync } from 'node:fs';
import { findProgram } from '../agents/find-program.ts';
import { attempt } from '../core/attempt.ts';
import { thisSystem } from '../core/data-folder.ts';
import type { Terminal } from '../observe/terminal.ts';

/** A program that is known to work as an engine: where to get it, and its config. */
interface EngineRecipe {
  readonly title: string;
  readonly program: string;
  readonly does: string;
  readonly from: string;
  readonly engine: object;
}

export const engineRecipes: readonly EngineRecipe[] = [
  {
    title: 'llama-server',
    program: 'llama-server',
    does: 'text, embeddings and reranking with GGUF files, in a newer or another build of llama.cpp',
    from: 'https://github.com/ggml-org/llama.cpp/releases',
    engine: {
      command: ['llama-server', '-m', '${model}', '--host', '${host}', '--port', '${port}', '--jinja'],
      model: 'qwen.gguf',
      env: { LLAMA_API_KEY: '${key}' },
      idle: '10m',
    },
  },
  {
    title: 'sd-server',
    program: 'sd-server',
    does: 'pictures with stable-diffusion.cpp',
    from: 'https://github.com/leejet/stable-diffusion.cpp/releases',
    engine: {
      command: ['sd-server', '-m', '${model}', '--listen-ip', '${host}', '--listen-port', '${port}'],
      model: 'sdxl.safetensors',
      idle: '10m',
    },
  },
  {
    title: 'whisper-server',
    program: 'whisper-server',
    does: 'transcription with whisper.cpp',
    from: 'https://github.com/ggml-org/whisper.cpp',
    engine: {
      command: ['whisper-server', '-m', '${model}', '--host', '${host}', '--port', '${port}'],
      model: 'ggml-large-v3-turbo.bin',
      idle: '10m',
    },
  },
  {
    title: 'vLLM',
    program: 'vllm',
    does: 'text with many requests at once on graphics cards',
    from: 'https://docs.vllm.ai',
    engine: {
      command: ['vllm', 'serve', '${model}', '--host', '${host}', '--port', '${port}'],
      model: 'Qwen/Qwen3-8B',
      env: { VLLM_API_KEY: '${key}' },
      timeout: '20m',
    },
  },
  {
    title: 'ComfyUI',
    program: 'python3',
    does: 'pictures with the graphs of ComfyUI',
    from: 'https://github.com/comfyanonymous/ComfyUI',
    engine: {
      command: ['python3', 'main.py', '--listen', '${host}', '--port', '${port}'],
      cwd: 'ComfyUI',
      kind: 'comfyui',
      idle: '30m',
    },
  },
];

const usage = `parley engines               programs that can be the engine of a model, and whether they are installed here
parley engines NAME          the config of one of them`;

/** `parley engines [NAME]`: resolves to the exit code. */
export function enginesCommand(
  words: readonly string[],
  terminal: Pick<Terminal, 'line'>,
  find: (program: string) => string | undefined = installed,
): number {
  const [name, ...more] = words;
  if (name === undefined) {
    for (const { title, program, does, from } of engineRecipes) {
      const path = find(program);
      terminal.line(`${title.padEnd(16)}${does}`);
      terminal.line(`${''.padEnd(16)}${path === undefined ? `not found here; get it from ${from}` : `found: ${path}`}`);
    }
    terminal.line('A config: parley engines NAME. How to use it: docs/engines.md');
    return 0;
  }
  const recipe = engineRecipes.find(({ title }) => title.toLowerCase() === name.toLowerCase());
  if (!recipe || more.length > 0) {
    terminal.line(usage);
    return 2;
  }
  terminal.line(JSON.stringify({ engine: recipe.engine }, undefined, 2));
  return 0;
}

/** Its path; undefined if it is not on the path of programs. */
export function installed(program: string): string | undefined {
  const files = {
    isFile: (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false,
    read: (path: string) => readFileSync(path, 'utf8'),
  };
  return attempt(() => findProgram(program, thisSystem(), files)?.path, undefined);
}
