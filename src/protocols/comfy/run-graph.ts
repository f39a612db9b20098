import type { GraphEvent, GraphFile, GraphRequest, ImageTurn } from '../../core/image.ts';
import { isObject } from '../fields.ts';
import type { OwnFiles } from './files.ts';
import type { Outputs, Running } from './queue.ts';

/** Runs a graph as it is on the backend. Its files are stored here, among those of the owner of the prompt. */
export async function runGraph(
  request: Omit<GraphRequest, 'file'>,
  running: Running,
  { turn, files }: { readonly turn: Pick<ImageTurn, 'graph'>; readonly files: OwnFiles },
): Promise<Outputs> {
  const file = (name: string): Uint8Array | undefined => files.named(name)?.bytes;
  let outputs: Outputs = {};
  for await (const event of turn.graph({ ...request, file })) {
    if (event.type === 'outputs') outputs = event.outputs;
    else if (event.type === 'preview') running.sendBinary(event.bytes);
    else if (event.type === 'file') store(event.file, files);
    else report(event, running);
  }
  return outputs;
}

function report({ name, data }: Extract<GraphEvent, { type: 'event' }>, running: Running): void {
  if (name === 'executing') running.executing(String(data.node ?? ''));
  else running.send(name, data);
}

const types = ['input', 'output', 'temp'] as const;

function store({ filename, subfolder, type, bytes }: GraphFile, files: OwnFiles): void {
  const known = types.find((one) => one === type) ?? 'output';
  files.put({ type: known, subfolder, name: filename }, { bytes, contentType: contentTypeOf(filename) });
}

const contentTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mkv: 'video/x-matroska',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  opus: 'audio/ogg',
  ogg: 'audio/ogg',
};

/** Anything else is never shown by a browser: a page of another server would run with the rights of this one. */
function contentTypeOf(filename: string): string {
  return contentTypes[filename.slice(filename.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream';
}

/** Nodes that no other one uses. */
export function endNodes(graph: Readonly<Record<string, unknown>>): readonly string[] {
  const used = new Set<string>();
  for (const node of Object.values(graph)) {
    const inputs = isObject(node) && isObject(node.inputs) ? Object.values(node.inputs) : [];
    for (const input of inputs) if (Array.isArray(input)) used.add(String(input[0]));
  }
  return Object.keys(graph).filter((id) => !used.has(id));
}

/** The classes of nodes of a backend, with the client's own files to choose from instead of all that were ever sent there. */
export function withOwnFiles(
  classes: Readonly<Record<string, unknown>>,
  sent: readonly string[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(classes).map(([name, value]) => [name, withOwnChoices(value, sent)]));
}

const uploads = ['image_upload', 'video_upload', 'audio_upload', 'file_upload'];

function withOwnChoices(value: unknown, sent: readonly string[]): unknown {
  if (!isObject(value) || !isObject(value.input)) return value;
  const own = (input: unknown): unknown => {
    if (!Array.isArray(input) || !isObject(input[1]) || !uploads.some((name) => input[1][name] === true)) return input;
    const [choices, { options, ...more }] = input;
    // Newer versions have the list beside its type.
    if (Array.isArray(choices)) return [sent, { ...more, ...(options !== undefined && { options: sent }) }];
    return [choices, { ...more, options: sent }];
  };
  const groups = Object.entries(value.input).map(([group, inputs]) => [
    group,
    isObject(inputs) ? Object.fromEntries(Object.entries(inputs).map(([name, one]) => [name, own(one)])) : inputs,
  ]);
  return { ...value, input: Object.fromEntries(groups) };
}
