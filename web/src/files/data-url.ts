import { bytesIn } from '../api/loose.ts';

/** A file as a data URL, for requests and exports. */
export function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/** Decoded here: the content security policy blocks fetching data URLs. */
export function blobOf(dataUrl: string): Blob {
  const [, type = 'application/octet-stream', base64 = ''] = /^data:([^;,]*)(?:;[^,]*)?,(.*)$/s.exec(dataUrl) ?? [];
  return new Blob([bytesIn(base64)], { type });
}
