import source from '@mermaid-js/tiny/dist/mermaid.tiny.js?url';
import { sandboxed } from './sandbox.ts';
import { texts } from './texts.ts';

const timeoutMs = 20_000;

/** Draws diagrams in a sandbox: Mermaid needs inline styles, which the pages do not allow. */
const host = `<!doctype html><meta charset="utf-8"><body><script>
addEventListener('message', async ({ source, data }) => {
  if (source !== parent) return;
  if (data.script !== undefined) {
    const script = document.createElement('script');
    script.textContent = data.script;
    document.head.append(script);
    return;
  }
  const { id, text, dark } = data;
  try {
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: 'strict',
      suppressErrorRendering: true,
      htmlLabels: false,
      flowchart: { htmlLabels: false },
      theme: dark ? 'dark' : 'neutral',
      fontFamily: 'system-ui, sans-serif',
    });
    const { svg } = await mermaid.render('diagram' + id, text);
    parent.postMessage({ id, svg }, '*');
  } catch (error) {
    parent.postMessage({ id, reason: String(error?.message ?? error) }, '*');
  }
});
parent.postMessage('parley-diagrams', '*');
</script>`;

interface Drawn {
  readonly id: number;
  readonly svg?: string;
  readonly reason?: string;
}

let frame: Promise<HTMLIFrameElement> | undefined;
let last = 0;

/** The diagram as SVG, which may be shown only as an image. */
export async function drawDiagram(text: string, dark: boolean): Promise<string> {
  frame ??= opened();
  const { contentWindow } = await frame.catch((thrown: unknown) => {
    frame = undefined;
    throw thrown;
  });
  last += 1;
  const id = last;
  const answer = answerOf(contentWindow, (data) => (data as Drawn).id === id, texts.diagramTooSlow);
  contentWindow?.postMessage({ id, text, dark }, '*');
  const { svg, reason = '' } = (await answer) as Drawn;
  if (svg === undefined) throw new Error(reason.split('\n').slice(0, 4).join('\n'));
  return withSize(svg);
}

async function opened(): Promise<HTMLIFrameElement> {
  const response = await fetch(source).catch(() => undefined);
  if (!response?.ok) throw new Error(texts.diagramsUnavailable);
  const script = await response.text();
  const made = sandboxed(host);
  made.className = 'diagram-host';
  made.tabIndex = -1;
  made.setAttribute('aria-hidden', 'true');
  document.body.append(made);
  try {
    await answerOf(made.contentWindow, (data) => data === 'parley-diagrams', texts.diagramsUnavailable);
  } catch (thrown) {
    made.remove();
    throw thrown;
  }
  made.contentWindow?.postMessage({ script }, '*');
  return made;
}

function answerOf(from: Window | null, isMeant: (data: unknown) => boolean, late: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (): void => {
      clearTimeout(timer);
      removeEventListener('message', onMessage);
    };
    const onMessage = ({ source: sender, data }: MessageEvent): void => {
      if (sender !== from || !isMeant(data)) return;
      ended();
      resolve(data);
    };
    const timer = setTimeout(() => {
      ended();
      reject(new Error(late));
    }, timeoutMs);
    addEventListener('message', onMessage);
  });
}

/** An image needs a size; Mermaid writes it as the maximum width and the view box. */
function withSize(svg: string): string {
  const [, width, height] = /viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"/.exec(svg) ?? [];
  if (width === undefined || height === undefined) return svg;
  return svg.replace(/^<svg([^>]*?) width="100%"/, `<svg$1 width="${width}" height="${height}"`);
}
