import { addressOf } from '../api/address.ts';
import { texts } from './texts.ts';

/**
 * A frame that shows a document of unknown origin. Its page has its own content policy: scripts run without access to this
 * page, its storage and the network.
 */
export function sandboxed(html: string): HTMLIFrameElement {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.title = texts.preview;
  const sent = ({ source, data }: MessageEvent): void => {
    if (source !== frame.contentWindow || data !== 'parley-sandbox') return;
    removeEventListener('message', sent);
    // A sandboxed frame has no origin that could be named.
    frame.contentWindow?.postMessage(html, '*');
  };
  addEventListener('message', sent);
  frame.src = addressOf('sandbox.html');
  return frame;
}
