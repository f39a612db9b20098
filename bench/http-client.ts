import { request } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A plain POST that hands each piece of the answer on when it comes. */
export function post(
  port: number,
  path: string,
  body: unknown,
  onPiece: (piece: string) => void = () => {},
): Promise<Answer> {
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
      const pieces: string[] = [];
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        pieces.push(piece);
        onPiece(piece);
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: pieces.join('') }));
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

export function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}
