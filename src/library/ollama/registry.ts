import { createHash } from 'node:crypto';
import { isObject, tryParseJson } from '../../core/json.ts';
import type { Hub } from '../hub/access.ts';
import { bodyWithin, followed, isAllowed, type RequestDeps, requestWithRetries } from '../redirects.ts';
import { DownloadError } from '../transfer.ts';
import { type OllamaName, ollamaHost, shortOllamaName } from './name.ts';

export interface RegistryDeps extends RequestDeps {
  readonly hub: Pick<Hub, 'offline' | 'registry'>;
  /** Registries that a name mentions may be anywhere, also without encryption. */
  readonly insecure?: boolean;
}

export interface OllamaLayer {
  /** `model`, `projector`, `template`, `params`, … */
  readonly kind: string;
  /** 64 hexadecimal digits. */
  readonly sha256: string;
  readonly bytes: number;
}

const manifestType = 'application/vnd.docker.distribution.manifest.v2+json';
const layerPrefix = 'application/vnd.ollama.image.';
const maxManifestBytes = 1e6;
const maxTextBytes = 4e6;
const maxLayers = 100;
/** Larger than any disk that models are on. */
const maxLayerBytes = 2 ** 44;

/** The layers of a manifest, its config as one of kind `config`. Rejects if it is none. */
export function readLayers(manifest: string): readonly OllamaLayer[] {
  const value = tryParseJson(manifest);
  if (!isObject(value) || !Array.isArray(value.layers) || value.layers.length > maxLayers)
    throw new DownloadError('what came is not a manifest of a model');
  const config = isObject(value.config) ? [{ ...value.config, mediaType: `${layerPrefix}config` }] : [];
  return [...value.layers, ...config].flatMap((layer) => readLayer(layer) ?? []);
}

function readLayer(layer: unknown): OllamaLayer | undefined {
  if (!isObject(layer) || typeof layer.mediaType !== 'string' || !layer.mediaType.startsWith(layerPrefix))
    return undefined;
  const sha256 = typeof layer.digest === 'string' ? /^sha256:([0-9a-f]{64})$/.exec(layer.digest)?.[1] : undefined;
  const { size } = layer;
  if (sha256 === undefined || typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw new DownloadError('its manifest has a layer without a hash or a size');
  if (size > maxLayerBytes) throw new DownloadError(`its manifest has a layer of ${size} bytes, which cannot be right`);
  return { kind: layer.mediaType.slice(layerPrefix.length), sha256, bytes: size };
}

/** What the registry says that belongs to a model. */
export async function readManifest(name: OllamaName, deps: RegistryDeps): Promise<readonly OllamaLayer[]> {
  const path = `/v2/${name.namespace}/${name.model}/manifests/${encodeURIComponent(name.tag)}`;
  const response = await ask(name, path, { headers: { accept: manifestType } }, deps);
  return readLayers((await bodyWithin(response, maxManifestBytes)).toString());
}

/** The content of a small layer, checked by its hash. */
export async function readText(name: OllamaName, layer: OllamaLayer, deps: RegistryDeps): Promise<string> {
  if (layer.bytes > maxTextBytes) throw new DownloadError(`its ${layer.kind} is too large to be one`);
  const bytes = await bodyWithin(await openBlob(name, layer, deps, {}), maxTextBytes);
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (hash !== layer.sha256) throw new DownloadError(`the sha256 of its ${layer.kind} is ${hash}, not ${layer.sha256}`);
  return bytes.toString();
}

/** The content of a layer, from wherever the registry stores it. */
export async function openBlob(
  name: OllamaName,
  { sha256 }: OllamaLayer,
  deps: RegistryDeps,
  init: RequestInit,
): Promise<Response> {
  const response = await ask(name, `/v2/${name.namespace}/${name.model}/blobs/sha256:${sha256}`, init, deps);
  return followed(response, new URL(baseOf(name, deps)), init, deps);
}

function baseOf({ host }: OllamaName, { hub, insecure }: RegistryDeps): string {
  if (host === ollamaHost) return hub.registry ?? `https://${ollamaHost}`;
  return `${insecure ? 'http' : 'https'}://${host}`;
}

async function ask(name: OllamaName, path: string, init: RequestInit, deps: RegistryDeps): Promise<Response> {
  if (deps.hub.offline)
    throw new DownloadError('HF_HUB_OFFLINE is set, so that no registry is asked. Unset it to download');
  const base = baseOf(name, deps);
  if (!URL.canParse(base)) throw new DownloadError(`there is no registry with the address ${base}`);
  const url = new URL(`${base}${path}`);
  if (name.host !== ollamaHost && !deps.insecure && !(await isAllowed(url, deps)))
    throw new DownloadError(
      `${url.host} is not on the internet. Use parley pull --insecure for a registry of your network`,
    );
  return requestWithRetries(url, init, deps, ({ status }) => refusal(name, status, url.host));
}

function refusal(name: OllamaName, status: number, host: string): string {
  const short = shortOllamaName(name);
  if (status === 404) return `${host} has no model ${short}. Look for its name and tags on the site of the registry`;
  if (status === 401 || status === 403) return `${short} needs a login at ${host}, which is not supported here`;
  if (status === 429) return `${host} allows no more requests at the moment. Try again later`;
  return `${host} answered ${status}. Try again later`;
}
