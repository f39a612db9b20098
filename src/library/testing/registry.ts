import { listening, sha256 } from './hub.ts';

/** A model of the registry for tests: the content of its layers by kind. */
export interface TestOllamaModel {
  readonly layers: Readonly<Record<string, Buffer | string>>;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly needsLogin?: boolean;
  /** Instead of the manifest. */
  readonly manifest?: string;
}

interface RegistryFaults {
  /** Ends the connection of the first downloads of weights after so many bytes. */
  readonly breakAfter?: readonly number[];
  /** Sends other bytes than those of the digest. */
  readonly damages?: string;
  /** Where blobs are said to be. */
  readonly storage?: string;
}

const mediaType = (kind: string) => `application/vnd.ollama.image.${kind}`;

/** Ollama's registry and its storage on two ports of this machine, with the replies that the real ones give. Models by `library/qwen3:8b`. */
export async function openRegistry(models: Readonly<Record<string, TestOllamaModel>>, faults: RegistryFaults = {}) {
  const asked: { url: string; accept: string | undefined }[] = [];
  const stored: { url: string; range: string | undefined }[] = [];
  const breaks = [...(faults.breakAfter ?? [])];
  const blobs = new Map<string, Buffer>();
  const layer = (kind: string, content: Buffer | string) => {
    const bytes = Buffer.from(content);
    blobs.set(sha256(bytes), bytes);
    return { mediaType: mediaType(kind), digest: `sha256:${sha256(bytes)}`, size: bytes.length };
  };
  const manifests = new Map(
    Object.entries(models).map(([name, { layers, config = { model_format: 'gguf' }, manifest }]) => {
      const body = {
        schemaVersion: 2,
        mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
        config: {
          ...layer('config', JSON.stringify(config)),
          mediaType: 'application/vnd.docker.container.image.v1+json',
        },
        layers: Object.entries(layers).map(([kind, content]) => layer(kind, content)),
      };
      return [name, manifest ?? JSON.stringify(body)];
    }),
  );

  const storage = await listening((request, response) => {
    const { url = '', headers } = request;
    stored.push({ url, range: headers.range });
    const whole = blobs.get(/sha256:([0-9a-f]{64})/.exec(url)?.[1] ?? '');
    if (!whole) return void response.writeHead(403).end();
    const bytes = faults.damages === sha256(whole) ? Buffer.alloc(whole.length, 9) : whole;
    const start = Number(/bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
    const rest = bytes.subarray(start);
    response.writeHead(headers.range ? 206 : 200, {
      'content-length': rest.length,
      ...(headers.range && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    const broken = rest.length > 1000 ? breaks.shift() : undefined;
    if (broken === undefined) return void response.end(rest);
    // What was sent arrives before the end of the connection.
    response.write(rest.subarray(0, broken), () => response.socket?.end());
  });

  const registry = await listening((request, response) => {
    const { url = '', headers } = request;
    asked.push({ url, accept: headers.accept });
    const [, name = '', kind, what = ''] = /^\/v2\/([^/]+\/[^/]+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? [];
    const refuse = (status: number, code: string, more = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...more })
        .end(JSON.stringify({ errors: [{ code, message: code.toLowerCase() }] }));
    if (kind === 'blobs') {
      const to = faults.storage ?? `${storage.address}/signed/${what}?signature=${stored.length}`;
      return void response.writeHead(307, { location: to }).end();
    }
    const model = models[`${name}:${decodeURIComponent(what)}`];
    if (!model) return void refuse(404, 'MANIFEST_UNKNOWN');
    if (model.needsLogin)
      return void refuse(401, 'UNAUTHORIZED', { 'www-authenticate': 'Bearer realm="https://registry.invalid/token"' });
    if (headers.accept !== 'application/vnd.docker.distribution.manifest.v2+json')
      return void refuse(400, 'MANIFEST_INVALID');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(manifests.get(`${name}:${decodeURIComponent(what)}`));
  });

  const close = () => {
    registry.close();
    storage.close();
  };
  return { base: registry.address, asked, stored, close };
}
