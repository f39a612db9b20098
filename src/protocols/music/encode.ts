import type { MusicEvent, SongFormat } from '../../core/music.ts';
import type { Headers, Reply } from '../../http/call.ts';
import type { SongFields } from './decode.ts';

const contentTypes: Readonly<Record<SongFormat, string>> = { wav: 'audio/wav', mp3: 'audio/mpeg' };

/** The parameters of a song, to be posted to `generate`. */
export function encodeSongFields(fields: SongFields): object {
  const { genkey: _genkey, stereo: _stereo, use_mp3: _mp3, response_format: _format, audio_codes, ...song } = fields;
  return { ...song, task_type: 'text2music', thinking: false, audio_codes: audio_codes.join(',') };
}

/** The whole file: clients of this family decode it at once. */
export async function encodeSongFile(
  events: AsyncIterable<MusicEvent>,
  format: SongFormat,
  headers: Headers,
): Promise<Reply> {
  const pieces: Uint8Array[] = [];
  for await (const event of events) if (event.type === 'audio') pieces.push(event.bytes);
  return {
    status: 200,
    headers: {
      'content-type': contentTypes[format],
      'content-disposition': `attachment; filename="output.${format}"`,
      ...headers,
    },
    body: Buffer.concat(pieces),
  };
}
