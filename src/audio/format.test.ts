import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeOther, detectFormat, endOfTags } from './format.ts';
import { flacFile, mp3File, mp4Of, opusFile, webmOf } from './testing/encoded.ts';
import { sine, wavFile } from './testing/waves.ts';

const tone = sine(440, 16_000, 0.3);
const text = (value: string): Buffer => Buffer.from(value, 'latin1');

function tag(length: number, flags = 0): Buffer {
  const size = [21, 14, 7, 0].map((shift) => (length >> shift) & 0x7f);
  return Buffer.concat([text('ID3\x04\x00'), Buffer.from([flags, ...size]), Buffer.alloc(length)]);
}

test('detectFormat: files of encoders', async () => {
  const opus = await opusFile([tone], 16_000);
  const mp3 = await mp3File([tone], 16_000);
  const flac = await flacFile([tone], 16_000);
  expect(detectFormat(wavFile([tone], 16_000))).toBe('wav');
  expect(detectFormat(mp3)).toBe('mp3');
  expect(detectFormat(flac)).toBe('flac');
  expect(detectFormat(opus)).toBe('ogg-opus');
  expect(detectFormat(await webmOf(opus))).toBe('webm');
  expect(detectFormat(await mp4Of(opus))).toBe('mp4');
  expect(detectFormat(Buffer.concat([tag(300), mp3]))).toBe('mp3');
  expect(detectFormat(Buffer.concat([tag(300), tag(20), mp3]))).toBe('mp3');
  expect(detectFormat(Buffer.concat([tag(300), flac]))).toBe('flac');
});

test.each([
  ['wav', 'RIFX\0\0\0\0WAVEfmt '],
  ['wav', 'RF64\0\0\0\0WAVEds64'],
  ['aiff', 'FORM\0\0\0\0AIFFCOMM'],
  ['aiff', 'FORM\0\0\0\0AIFCFVER'],
  ['mp4', '\0\0\0\x20ftypM4A '],
  ['amr', '#!AMR\n'],
  ['caf', 'caff\0\x01'],
  ['asf', '\x30\x26\xb2\x75\x8e\x66'],
  ['webm', '\x1a\x45\xdf\xa3'],
  ['ogg-vorbis', `OggS${'\0'.repeat(24)}\x01vorbis`],
  ['ogg-flac', `OggS${'\0'.repeat(24)}\x7fFLAC`],
  ['ogg-speex', `OggS${'\0'.repeat(24)}Speex   1.2`],
  ['aac', '\xff\xf1\x50\x80\x01\x00'],
])('detectFormat: %s by its first bytes', (format, bytes) => {
  expect(detectFormat(text(bytes))).toBe(format);
});

test('detectFormat: one apparent MPEG frame is not enough', () => {
  expect(
    detectFormat(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('<html>hello world</html>', 'utf16le')])),
  ).toBe(undefined);
  const lonely = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(2000)]);
  expect(detectFormat(lonely)).toBeUndefined();
});

test('detectFormat: layers and versions of MPEG audio', () => {
  const frames = (head: readonly number[], length: number): Buffer => {
    const frame = Buffer.alloc(length);
    frame.set(head);
    return Buffer.concat([frame, frame, frame]);
  };
  expect(detectFormat(frames([0xff, 0xfb, 0x90, 0x00], 417))).toBe('mp3');
  expect(detectFormat(frames([0xff, 0xf3, 0x40, 0xc0], 104))).toBe('mp3');
  expect(detectFormat(frames([0xff, 0xfd, 0x80, 0x00], 417))).toBe('mp3');
  expect(detectFormat(frames([0xff, 0xff, 0x90, 0x00], 312))).toBe('mp3');
  expect(detectFormat(frames([0xff, 0xfb, 0x90, 0x00], 400))).toBeUndefined();
});

test('endOfTags: includes the footer', () => {
  expect(endOfTags(tag(300))).toBe(310);
  expect(endOfTags(tag(300, 0x10))).toBe(320);
  expect(endOfTags(text('ID3'))).toBe(0);
  expect(endOfTags(text('RIFF'))).toBe(0);
});

test.each([
  ['a PNG picture', '\x89PNG\r\n\x1a\n'],
  ['a JPEG picture', '\xff\xd8\xff\xe0'],
  ['a PDF document', '%PDF-1.7'],
  ['a ZIP archive', 'PK\x03\x04'],
  ['a GGUF model', 'GGUF\x03'],
  ['a RIFF file of another kind (AVI)', 'RIFF\0\0\0\0AVI LIST'],
  ['an Ogg file without a codec that we know', `OggS${'\0'.repeat(40)}`],
  ['text', '{"file": "hello"}\n'],
  ['nothing that we know', '\0\x01\x02\x03'],
])('describeOther: %s', (name, bytes) => {
  expect(detectFormat(text(bytes))).toBeUndefined();
  expect(describeOther(text(bytes))).toBe(name);
});

test('detectFormat: any bytes do not throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      detectFormat(bytes);
      expect(describeOther(bytes)).toMatch(/^(a|an|text|nothing)\b/);
    }),
  );
});
