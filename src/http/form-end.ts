import { Transform } from 'node:stream';

/** Passes on a `multipart` body up to its closing delimiter. The parser would take what follows for parts, and wait for their end for ever. */
export function upToFormEnd(contentType: string): Transform {
  const closing = Buffer.from(`\r\n--${boundaryOf(contentType)}--`);
  // The first delimiter may be at the very beginning, without a line break before it.
  let tail = closing.subarray(0, 2);
  let isOver = false;
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      if (isOver) return done();
      const joined = Buffer.concat([tail, chunk]);
      const found = joined.indexOf(closing);
      isOver = found >= 0;
      if (isOver) return done(null, joined.subarray(tail.length, found + closing.length));
      tail = joined.subarray(Math.max(0, joined.length - closing.length + 1));
      return done(null, chunk);
    },
  });
}

function boundaryOf(contentType: string): string {
  const { quoted, plain } = /;\s*boundary=(?:"(?<quoted>[^"]*)"|(?<plain>[^\s;]*))/i.exec(contentType)?.groups ?? {};
  return quoted ?? plain ?? '';
}
