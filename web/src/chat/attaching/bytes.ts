/** A file as a data URL, which goes into a request and into exports. */
export function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/** Without a request: the content policy of the page would refuse to fetch it. */
export function blobOf(dataUrl: string): Blob {
  const [, type = 'application/octet-stream', base64 = ''] = /^data:([^;,]*)(?:;[^,]*)?,(.*)$/s.exec(dataUrl) ?? [];
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Blob([bytes], { type });
}
