import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { findProgram } from '../agents/find-program.ts';
import { attempt } from '../core/attempt.ts';
import { thisSystem } from '../core/data-folder.ts';
import { type CommandContext, command, printJson } from './command.ts';

/** A program that is known to work as an engine: where to get it, and its config. */
export interface EngineRecipe {
  readonly title: string;
  readonly program: string;
  readonly does: string;
  readonly from: string;
  /** A file of the engine itself, where the program is only its interpreter. */
  readonly file?: string;
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
    file: 'ComfyUI/main.py',
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

interface EnginesCommand extends CommandContext {
  readonly find?: typeof installed;
}

/** `parley engines [NAME]` */
export const enginesCommand = command(
  { usage, options: {} },
  ({ positionals: [name, ...rest] }, { terminal, find = installed }: EnginesCommand) => {
    if (name === undefined) {
      for (const recipe of engineRecipes) {
        const { title, does, from, file } = recipe;
        const path = find(recipe);
        const where =
          file === undefined ? 'not found here' : `not found here (${file} in this folder or your home folder)`;
        terminal.line(`${title.padEnd(16)}${does}`);
        terminal.line(`${''.padEnd(16)}${path === undefined ? `${where}; get it from ${from}` : `found: ${path}`}`);
      }
      terminal.line('A config: parley engines NAME. How to use it: docs/engines.md');
      return 0;
    }
    const recipe = engineRecipes.find(({ title }) => title.toLowerCase() === name.toLowerCase());
    if (!recipe || rest.length > 0) return undefined;
    return printJson(terminal, { engine: recipe.engine });
  },
);

/** Its path; undefined if its program is not on the path of programs, or its own file is not there. */
export function installed(
  { program, file }: Pick<EngineRecipe, 'program' | 'file'>,
  system: Parameters<typeof findProgram>[1] = thisSystem(),
  folders: readonly string[] = [process.cwd(), homedir()],
): string | undefined {
  const path = attempt(() => findProgram(program, system)?.path, undefined);
  if (path === undefined || file === undefined) return path;
  return folders.map((folder) => resolve(folder, file)).find(existsSync);
}
