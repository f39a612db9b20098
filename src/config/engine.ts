import { basename } from 'node:path';
import { hideSecrets } from '../core/hide-secrets.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { fieldPattern } from '../core/sent-fields.ts';
import { durationMs } from './duration.ts';
import { badFlags, type Problem, type Read } from './flag.ts';
import { bytesOf } from './paths.ts';

/** What an engine program does. `a1111` and `comfyui` are images, with the API that is used. */
export const engineKinds = [
  ...(['text', 'embeddings', 'rerank', 'images', 'speech', 'transcription', 'audio'] as const),
  ...(['a1111', 'comfyui'] as const),
];
export type EngineProgramKind = (typeof engineKinds)[number];

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGKILL'] as const;

/** A program that serves a model over HTTP: this server starts it, waits until it is ready, watches it and ends it. */
export interface EngineProgram {
  /** Of `--engine`; in a config file the config gives the name. */
  readonly name?: string;
  /** The program and its arguments; no shell reads them. */
  readonly command: readonly string[];
  /** Replaces `${model}`: a file, or whatever the program calls a model. */
  readonly model?: string;
  /** Only where neither the command nor the running program shows it. */
  readonly kind?: EngineProgramKind;
  /** Path that answers 2xx once the model is loaded; by default what the program is asked first anyway. */
  readonly ready?: string;
  /** Longest time from the start until it is ready. */
  readonly timeoutMs: number;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Signal that asks it to end. */
  readonly stop: (typeof stopSignals)[number];
  /** First estimate; measured once it was loaded. */
  readonly memoryBytes?: number;
  /** Unloaded after this long without requests. */
  readonly idleMs?: number;
  /** Names of request fields, with `*`, that are passed on although the adapter does not know them. */
  readonly pass?: readonly string[];
  /** Most requests at once. */
  readonly parallel: number;
}

const defaults = { timeoutMs: 600_000, env: {}, stop: 'SIGTERM', parallel: 64 } as const;

type Value<Result> = Partial<Result> | string;
/** Each returns the value, or what it must be. */
const fields: Readonly<Record<string, (value: unknown) => Value<EngineProgram>>> = {
  name: (value) => (isText(value) && value.trim() !== '' ? { name: value.trim() } : 'a name'),
  command: (value) => {
    const expected = 'a list of texts: the program, then its arguments';
    if (!isText(value)) return isTexts(value) && value[0] ? { command: value } : expected;
    const command = splitCommand(value);
    if (command.ok) return { command: command.args };
    return value.trim() === '' ? expected : command.expected;
  },
  model: (value) => (isText(value) && value !== '' ? { model: value } : 'a file, or the name of a model'),
  kind: (value) => {
    const kind = engineKinds.find((one) => one === value);
    return kind ? { kind } : `one of ${engineKinds.join(', ')}`;
  },
  ready: (value) => (isText(value) && value.startsWith('/') ? { ready: value } : 'a path such as /health'),
  timeout: (value) => {
    const timeoutMs = durationMs(value);
    return timeoutMs ? { timeoutMs } : 'a time such as 10m';
  },
  env: (value) =>
    isObject(value) && isTexts(Object.values(value))
      ? { env: value as Record<string, string> }
      : 'an object of environment variables',
  cwd: (value) => (isText(value) ? (value === '' ? {} : { cwd: value }) : 'a folder'),
  stop: (value) => {
    const stop = stopSignals.find((one) => one === value);
    return stop ? { stop } : `one of ${stopSignals.join(', ')}`;
  },
  memory: (value) => {
    const memoryBytes = bytesOf(String(value).replace(' ', ''));
    return memoryBytes === undefined ? 'a size such as 14GB' : { memoryBytes };
  },
  idle: (value) => {
    const idleMs = durationMs(value);
    return idleMs === undefined ? 'a time such as 10m' : { idleMs };
  },
  pass: (value) => {
    const patterns = isTexts(value) ? value.map(fieldPattern) : [undefined];
    return patterns.every((one) => one !== undefined) ? { pass: patterns } : 'a list of field names such as ["cnet_*"]';
  },
  parallel: (value) =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 4096
      ? { parallel: Number(value) }
      : 'a whole number from 1 to 4096',
};

const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);

/** What is wrong is a sentence without its end, after the name of the engine if it has one. */
type EngineReading =
  | { readonly ok: true; readonly engine: EngineProgram }
  | { readonly ok: false; readonly problem: string };

/** `NAME=COMMAND` of `--engine`, or the object of a config file as JSON. */
export function readEngine(text: string, platform = process.platform): EngineReading {
  if (text.trimStart().startsWith('{')) return readObject(tryParseJson(text));
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(0, at)).trim();
  if (name === '' || /\s/.test(name))
    return refused("it must be NAME='COMMAND', such as qwen='llama-server -m qwen.gguf --port ${port}'");
  const command = splitCommand(text.slice(at + 1), platform);
  if (!command.ok) return refused(`its command must be ${command.expected}`, name);
  return readObject({ name, command: command.args });
}

function readObject(object: unknown): EngineReading {
  if (!isObject(object)) return refused('it must be a JSON object');
  const name = isText(object.name) ? object.name : undefined;
  let engine: EngineProgram = { ...defaults, command: [] };
  for (const [key, value] of Object.entries(object)) {
    const read = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!read) return refused(`it has no field ${key}; its fields are ${Object.keys(fields).join(', ')}`, name);
    if (value === null) continue;
    const field = read(value);
    if (isText(field)) return refused(`${key} must be ${field}`, name);
    engine = { ...engine, ...field };
  }
  if (engine.command.length === 0) return refused('command is missing: the program, then its arguments', name);
  const texts = [...engine.command, ...Object.values(engine.env)];
  if (!texts.some((one) => one.includes('${port}')))
    return refused(
      'its command has no ${port}; write that where the program takes the port to listen on, such as --port ${port} (on a command line, put the whole engine in single quotes)',
      name,
    );
  if (engine.model === undefined && texts.some((one) => one.includes('${model}')))
    return refused('its command has ${model}, and model is missing: the file or name that replaces it', name);
  return { ok: true, engine };
}

const refused = (problem: string, name?: string): EngineReading => ({
  ok: false,
  problem: `${name === undefined ? '' : ` ${name}`}: ${problem}`,
});

/** The valid programs; invalid ones were rejected at startup. */
export function enginePrograms(texts: readonly string[] | null): readonly EngineProgram[] {
  return (texts ?? []).flatMap((text) => {
    const reading = readEngine(text);
    return reading.ok ? [reading.engine] : [];
  });
}

/** What a program without a name is called where it has no config: its model, or the program itself. */
export function programName({ model, command }: Pick<EngineProgram, 'model' | 'command'>): string {
  return basename((model ?? command[0] ?? '').replaceAll('\\', '/')).replace(/\.(gguf|exe)$/i, '');
}

export function engineProblems(texts: readonly string[] | null): readonly Problem[] {
  const names = new Set<string>();
  return (texts ?? []).flatMap((text) => {
    const reading = readEngine(text);
    if (!reading.ok) return [badFlags(`--engine${reading.problem}.`)];
    const name = reading.engine.name?.toLowerCase() ?? '';
    if (names.has(name)) {
      const sentence = name === '' ? 'a config has one engine without a name' : `two engines are called ${name}`;
      return [badFlags(`--engine: ${sentence}.`)];
    }
    names.add(name);
    return [];
  });
}

/** The engine of a config is one text; several named ones may be a list. */
export function engineTexts(value: unknown): unknown {
  return [value].flat().map((one) => (isObject(one) ? JSON.stringify(one) : one));
}

/** The reverse, for a config file. */
export function engineValues(texts: readonly string[]): unknown {
  const values = texts.map((text) => (text.trimStart().startsWith('{') ? (tryParseJson(text) ?? text) : text));
  return values.length === 1 ? values[0] : values;
}

const secretName = /key|token|secret|password|credential|auth/i;

/** The values of environment variables whose names say that they are secret. */
export function secretValues(env: EngineProgram['env']): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    secretName.test(name) && !/^\$\{\w+\}$/.test(value) ? value : [],
  );
}

/** A program as it may be shown. */
export function visibleEngine(text: string): string {
  const reading = readEngine(text);
  return reading.ok ? hideSecrets(text, secretValues(reading.engine.env)) : text;
}

/** After another config was loaded: its own engine, and those that the server was started with. */
export function mergedEngines(own: unknown, initial: readonly string[] | null): readonly string[] | null {
  const isNamed = (text: string): boolean => {
    const reading = readEngine(text);
    // An invalid one is kept, so that it is reported.
    return reading.ok && reading.engine.name !== undefined;
  };
  const unnamed = (Array.isArray(own) ? own.map(String) : []).filter((text) => !isNamed(text));
  const all = [...unnamed, ...(initial ?? []).filter(isNamed)];
  return all.length > 0 ? all : null;
}

/** What its command shows of its kind; undefined if only the running program can tell. */
export function commandKind({
  kind,
  command,
  cwd = '',
}: Pick<EngineProgram, 'kind' | 'command' | 'cwd'>): EngineProgramKind | undefined {
  if (kind) return kind;
  const [program = '', ...args] = command;
  const has = (flag: RegExp): boolean => args.some((one) => flag.test(one));
  const name = basename(program.replaceAll('\\', '/'))
    .replace(/\.exe$/i, '')
    .toLowerCase();
  if (/^(llama-server|koboldcpp.*)$/.test(name)) {
    if (has(/^--rerank(ing)?$/)) return 'rerank';
    return has(/^--embeddings?(-only)?$/) ? 'embeddings' : 'text';
  }
  if (name === 'vllm' || has(/^(vllm|sglang|mlx_lm)\b/)) return has(/^(embed|pooling)$/) ? 'embeddings' : 'text';
  if (/^sd-server$/.test(name)) return 'images';
  if (/^whisper-server$/.test(name)) return 'transcription';
  return /comfyui/i.test([cwd, ...command].join(' ')) ? 'comfyui' : undefined;
}

/** Splits as a shell would, but runs none: what needs a shell is rejected. */
export function splitCommand(
  text: string,
  platform: string = process.platform,
): Read<{ readonly args: readonly string[] }> {
  const args: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] as string;
    const next = text[index + 1];
    const isEscape =
      platform === 'win32' ? next === '"' : quote !== '"' || next === '"' || next === '\\' || next === '$';
    if (character === '\\' && quote !== "'" && next !== undefined && isEscape) {
      word = (word ?? '') + next;
      index += 1;
    } else if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== undefined) args.push(word);
      word = undefined;
    } else if ('|&;<>`'.includes(character) || (character === '$' && next === '(')) {
      return {
        ok: false,
        expected: `a command without ${character}, because no shell runs it; quote it, or name a script`,
      };
    } else word = (word ?? '') + character;
  }
  if (quote !== undefined) return { ok: false, expected: `a command in which every ${quote} is closed` };
  if (word !== undefined) args.push(word);
  return args.length > 0 ? { ok: true, args } : { ok: false, expected: 'a command' };
}
