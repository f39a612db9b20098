import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isObject, tryParseJson } from '../../core/json.ts';
import { product } from '../../core/product.ts';
import type { Hub } from '../hub/access.ts';
import { followed } from '../redirects.ts';
import { DownloadError, pauseFor, reasonOf } from '../transfer.ts';
import { type OllamaName, ollamaHost, shortOllamaName } from './name.ts';

export interface RegistryParts {
  readonly hub: Pick<Hub, 'offline' | 'registry'>;
  readonly fetch: typeof fetch;
  readonly signal?: AbortSignal;
  readonly wait?: (milliseconds: number) => Promise<void>;
  /** Whether a registry that a name mentions may have this IP address. */
  readonly allowsAddress: (address: string) => boolean;
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
const attempts = 4;
const timeoutMs = 30_000;

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
export async function readManifest(name: OllamaName, parts: RegistryParts): Promise<readonly OllamaLayer[]> {
  const path = `/v2/${name.namespace}/${name.model}/manifests/${encodeURIComponent(name.tag)}`;
  const response = await ask(name, path, { headers: { accept: manifestType } }, parts);
  return readLayers((await readBytes(response, maxManifestBytes)).toString());
}

/** The content of a small layer, checked by its hash. */
export async function readText(name: OllamaName, layer: OllamaLayer, parts: RegistryParts): Promise<string> {
  if (layer.bytes > maxTextBytes) throw new DownloadError(`its ${layer.kind} is too large to be one`);
  const bytes = await readBytes(await openBlob(name, layer, parts, {}), maxTextBytes);
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (hash !== layer.sha256) throw new DownloadError(`the sha256 of its ${layer.kind} is ${hash}, not ${layer.sha256}`);
  return bytes.toString();
}

/** The content of a layer, from wherever the registry stores it. */
export async function openBlob(
  name: OllamaName,
  { sha256 }: OllamaLayer,
  parts: RegistryParts,
  init: RequestInit,
): Promise<Response> {
  const own = init.signal ? { ...parts, signal: init.signal } : parts;
  const response = await ask(name, `/v2/${name.namespace}/${name.model}/blobs/sha256:${sha256}`, init, own);
  const { signal } = own;
  // The signed address needs no login.
  return followed(response, new URL(baseOf(name, parts)), { ...init, ...(signal && { signal }) }, parts);
}

function baseOf({ host }: OllamaName, { hub, insecure }: RegistryParts): string {
  if (host === ollamaHost) return hub.registry ?? `https://${ollamaHost}`;
  return `${insecure ? 'http' : 'https'}://${host}`;
}

async function ask(name: OllamaName, path: string, init: RequestInit, parts: RegistryParts): Promise<Response> {
  if (parts.hub.offline)
    throw new DownloadError('HF_HUB_OFFLINE is set, so that no registry is asked. Unset it to download');
  const base = baseOf(name, parts);
  if (!URL.canParse(base)) throw new DownloadError(`there is no registry with the address ${base}`);
  const { host, hostname } = new URL(base);
  if (name.host !== ollamaHost && !parts.insecure) await mustBePublic(host, hostname, parts);
  for (let attempt = 1; ; attempt += 1) {
    const response = await once(`${base}${path}`, init, parts);
    if (response.status < 400 || response.status === 416) return response;
    await response.body?.cancel();
    const isTemporary = response.status >= 500 || response.status === 429;
    if (!isTemporary || attempt >= attempts) throw new DownloadError(refusal(name, response.status, host));
    await pauseFor(1000 * 2 ** (attempt - 1), parts);
  }
}

async function mustBePublic(host: string, hostname: string, { allowsAddress }: RegistryParts): Promise<void> {
  const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
  if (!addresses.every(({ address }) => allowsAddress(address)))
    throw new DownloadError(
      `${host} is not on the internet. Use parley pull --insecure for a registry of your network`,
    );
}

async function once(url: string, init: RequestInit, { fetch, signal }: RegistryParts): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('user-agent', `parley/${product.version}; node/${process.versions.node}`);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    const ends = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    return await fetch(url, { ...init, headers, redirect: 'manual', signal: ends });
  } catch (error) {
    signal?.throwIfAborted();
    const reason = late.signal.aborted ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error);
    throw new DownloadError(`cannot reach ${new URL(url).host}: ${reason}. Check the network connection`);
  } finally {
    clearTimeout(timer);
  }
}

function refusal(name: OllamaName, status: number, host: string): string {
  const short = shortOllamaName(name);
  if (status === 404) return `${host} has no model ${short}. Look for its name and tags on the site of the registry`;
  if (status === 401 || status === 403) return `${short} needs a login at ${host}, which is not supported here`;
  if (status === 429) return `${host} allows no more requests at the moment. Try again later`;
  return `${host} answered ${status}. Try again later`;
}

/** Rejects a body that is longer than the limit. */
async function readBytes(response: Response, limit: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > limit) throw new DownloadError(`what came is longer than ${limit} bytes, which cannot be right`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
