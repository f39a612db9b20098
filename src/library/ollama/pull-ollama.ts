import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { versionKey } from '../../core/file-version.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import { readGguf, textOf } from '../../gguf/gguf.ts';
import { type DownloadDeps, DownloadError, download, type Expected, readSha256, sizeOf } from '../download.ts';
import type { ModelFolder } from '../model-folders.ts';
import { checkSpace, type PulledModel } from '../pull-model.ts';
import { type OllamaName, ollamaHost, shortOllamaName } from './name.ts';
import { type OllamaTexts, presetOf } from './preset.ts';
import { type OllamaLayer, openBlob, type RegistryDeps, readLayers, readManifest, readText } from './registry.ts';

/** Where the files of a model of Ollama's registry are in the models folder. */
function filesOf({ host, namespace, model, tag }: OllamaName, folder: string) {
  const owner = host === ollamaHost ? namespace : `${host.replace(/:/g, '_')}--${namespace}`;
  const own = join(folder, `ollama--${owner}--${model}`.toLowerCase());
  const stem = `${model}-${tag}`.toLowerCase();
  return {
    folder: own,
    weights: join(own, `${stem}.gguf`),
    projector: join(own, `mmproj-${stem}.gguf`),
    config: join(own, `${stem}.kcpps`),
    licence: join(own, `${stem}.license.txt`),
  };
}

/** Downloads a model of Ollama's registry: weights, projector, and its parameters as a config beside them. */
export async function pullOllama(
  name: OllamaName,
  { folder, expected }: { readonly folder: string; readonly expected?: Expected | undefined },
  deps: RegistryDeps & Omit<DownloadDeps, 'fetch'>,
): Promise<PulledModel> {
  const files = filesOf(name, folder);
  const layers = await readManifest(name, deps);
  await mustBeUsable(name, layers, deps);
  const hash = layers.find(({ kind }) => kind === 'model')?.sha256;
  if (expected && hash !== expected.digest.toString('hex'))
    throw new DownloadError(`the registry names another sha256 (${hash}); nothing was downloaded`);
  const weightFiles = layers.flatMap((layer) => {
    const target = layer.kind === 'model' ? files.weights : layer.kind === 'projector' ? files.projector : undefined;
    return target === undefined ? [] : [{ layer, target, bytes: layer.bytes }];
  });
  await mkdir(files.folder, { recursive: true });
  const missing = [];
  for (const file of weightFiles) if ((await sizeOf(file.target)) !== file.bytes) missing.push(file);
  await checkSpace(files.folder, missing);
  const total = weightFiles.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const file of weightFiles) {
    const { layer, target, bytes } = file;
    const before = done;
    const progress = (received: number) =>
      deps.progress(before + received, total, { digest: `sha256:${layer.sha256}`, done: received, total: bytes });
    const fetch: typeof globalThis.fetch = (_, init) => openBlob(name, layer, deps, init ?? {});
    const url = `https://${name.host}/${layer.sha256}`;
    if (missing.includes(file))
      await download({ url, target, expected: readSha256(layer.sha256), bytes }, { ...deps, fetch, progress });
    progress(bytes);
    done += bytes;
  }
  const hasProjector = weightFiles.some(({ target }) => target === files.projector);
  const content = (layer: OllamaLayer) => readText(name, layer, deps);
  const texts = await textsOf(layers, content);
  const licences = await Promise.all(layers.filter(({ kind }) => kind === 'license').map(content));
  if (licences.length > 0) await writeFile(files.licence, `${licences.join('\n\n')}\n`);
  const preset = presetOf(texts, await hasTemplate(files.weights));
  const config = { [versionKey]: 1, model_param: files.weights, ...(hasProjector && { mmproj: files.projector }) };
  await writeFile(files.config, `${JSON.stringify({ ...config, ...preset }, undefined, 2)}\n`);
  return { path: files.weights, projector: hasProjector ? files.projector : undefined, preset };
}

/** A model of Ollama's registry that is on this machine: downloaded by Parley, or in the folders of Ollama. */
export async function localOllama(
  name: OllamaName,
  folder: string,
  modelFolders: readonly ModelFolder[],
): Promise<PulledModel | undefined> {
  const files = filesOf(name, folder);
  if ((await sizeOf(files.weights)) > 0) {
    const config = tryParseJson(await readFile(files.config, 'utf8').catch(() => ''));
    const { [versionKey]: _version, model_param: _model, mmproj, ...preset } = isObject(config) ? config : {};
    return { path: files.weights, projector: typeof mmproj === 'string' ? mmproj : undefined, preset };
  }
  for (const place of modelFolders.filter(({ layout }) => layout === 'ollama')) {
    const { host, namespace, model, tag } = name;
    const manifest = await readFile(join(place.folder, 'manifests', host, namespace, model, tag), 'utf8').catch(
      () => '',
    );
    if (manifest !== '') return storedModel(place.folder, readLayers(manifest));
  }
  return undefined;
}

/** Undefined if a file is missing. */
async function storedModel(folder: string, layers: readonly OllamaLayer[]): Promise<PulledModel | undefined> {
  const blob = ({ sha256 }: OllamaLayer) => join(folder, 'blobs', `sha256-${sha256}`);
  const [weights, projector] = ['model', 'projector'].map((kind) => layers.find((layer) => layer.kind === kind));
  for (const layer of [weights, projector]) if (layer && (await sizeOf(blob(layer))) !== layer.bytes) return undefined;
  if (!weights) return undefined;
  const texts = await textsOf(layers, (layer) => readFile(blob(layer), 'utf8').catch(() => ''));
  const preset = presetOf(texts, await hasTemplate(blob(weights)));
  return { path: blob(weights), projector: projector && blob(projector), preset };
}

async function textsOf(
  layers: readonly OllamaLayer[],
  content: (layer: OllamaLayer) => Promise<string>,
): Promise<OllamaTexts> {
  const read = async (kind: string) => {
    const layer = layers.find((one) => one.kind === kind);
    return layer && content(layer);
  };
  return { template: await read('template'), system: await read('system'), params: await read('params') };
}

async function hasTemplate(path: string): Promise<boolean> {
  const header = await readGguf(path).catch(() => undefined);
  return header !== undefined && textOf(header, 'tokenizer.chat_template') !== undefined;
}

async function mustBeUsable(name: OllamaName, layers: readonly OllamaLayer[], deps: RegistryDeps): Promise<void> {
  const short = shortOllamaName(name);
  const has = (kind: string) => layers.some((layer) => layer.kind === kind);
  const layer = layers.find(({ kind }) => kind === 'config');
  const parsed = layer && tryParseJson(await readText(name, layer, deps));
  const config = isObject(parsed) ? parsed : {};
  if (config.remote_host || config.remote_model)
    throw new DownloadError(`${short} runs on the servers of Ollama only; there is nothing to download`);
  if (has('tensor')) throw new DownloadError(`${short} is not a GGUF file but a model for MLX. Choose another tag`);
  if (!has('model')) throw new DownloadError(`${short} has no weights`);
  if (has('adapter'))
    throw new DownloadError(`${short} is an adapter (LoRA) for another model, which is not supported`);
}
