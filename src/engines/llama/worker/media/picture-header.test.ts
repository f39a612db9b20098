import { expect, test } from 'vitest';
import { pictureSize } from './picture-header.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

test.each([
  ['a PNG', hex('89504e470d0a1a0a 0000000d 49484452 00000300 00000200 08'), { width: 768, height: 512 }],
  ['a GIF', hex('474946383961 2c01 c800'), { width: 300, height: 200 }],
  ['a BMP', hex(`424d ${'00'.repeat(12)} 28000000 40000000 30000000`), { width: 64, height: 48 }],
  ['a BMP from top to bottom', hex(`424d ${'00'.repeat(12)} 28000000 40000000 d0ffffff`), { width: 64, height: 48 }],
  ['a JPEG', hex('ffd8 ffe0 0004 aabb ffff c0 0011 08 0010 0020 03'), { width: 32, height: 16 }],
  ['a progressive JPEG', hex('ffd8 ffdb 0003 00 ffc4 0002 ffc2 0011 08 0100 0200'), { width: 512, height: 256 }],
  ['a cut PNG', hex('89504e470d0a1a0a 0000'), undefined],
  ['a cut JPEG', hex('ffd8 ffe0 ffff'), undefined],
  ['a WebP', Buffer.from('RIFF1234WEBPVP8 '), undefined],
  ['text', Buffer.from('<svg/>'), undefined],
  ['nothing', Buffer.alloc(0), undefined],
])('the size of %s', (_, file, size) => expect(pictureSize(file)).toEqual(size));
