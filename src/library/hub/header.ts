import { type ByteSource, type GgufHeader, readGgufHeader } from '../../gguf/gguf.ts';
import { DownloadError } from '../transfer.ts';
import { type HubFile, type HubRepository, openFile } from './repository.ts';
import type { HubDeps } from './request.ts';

/** Vocabularies make most headers one to fifteen megabytes long. */
const stepBytes = 4 << 20;
const maxBytes = 64 << 20;
const timeoutMs = 60_000;
/** Lists with an entry for each layer are read in full. */
const layerEntries = 512;

/** The header of a model file on the hub, of which only the beginning is downloaded. */
export async function readHubHeader(
  repository: Pick<HubRepository, 'id' | 'commit'>,
  file: HubFile,
  deps: HubDeps,
): Promise<Omit<GgufHeader, 'path'>> {
  const late = AbortSignal.timeout(timeoutMs);
  const signal = deps.signal ? AbortSignal.any([deps.signal, late]) : late;
  return readGgufHeader(hubBytes(repository, file, { ...deps, signal }), { arrayEntries: layerEntries });
}

function hubBytes(repository: Pick<HubRepository, 'id' | 'commit'>, file: HubFile, deps: HubDeps): ByteSource {
  let left = maxBytes;
  const read = async (position: number, length: number) => {
    left -= length;
    if (left < 0) throw new DownloadError(`the header of ${file.path} is larger than ${maxBytes >> 20} MB`);
    const range = `bytes=${position}-${position + length - 1}`;
    const response = await openFile(repository, file.path, deps, { headers: { range } });
    try {
      return await firstBytes(response, position, length);
    } finally {
      await response.body?.cancel().catch(() => undefined);
    }
  };
  return { size: file.bytes, step: stepBytes, read };
}

/** At most the requested bytes: a host may ignore the range, or send without end. */
async function firstBytes(response: Response, position: number, length: number): Promise<Buffer> {
  const start = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1];
  const begins = response.status === 206 ? Number(start) : response.status === 200 ? 0 : Number.NaN;
  if (begins !== position || !response.body) {
    throw new DownloadError(`the host of the file does not send parts of it (${response.status})`);
  }
  const chunks: Buffer[] = [];
  let received = 0;
  for await (const chunk of response.body) {
    chunks.push(Buffer.from(chunk));
    received += chunk.length;
    if (received >= length) break;
  }
  return Buffer.concat(chunks).subarray(0, length);
}
