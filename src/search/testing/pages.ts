/** Pages as search sites write them, cut down to what matters. */

export interface Listed {
  readonly url: string;
  readonly title: string;
  readonly description: string;
}

/** Titles of a class of their own, links over the site itself, and an advertisement in front. */
export function listPage(results: readonly Listed[], site = 'search.example'): string {
  const entries = results.map(
    ({ url, title, description }) => `
    <div class="result results_links web-result">
      <h2 class="result__title">
        <a rel="nofollow" class="result__a" href="//${site}/l/?uddg=${encodeURIComponent(url)}&amp;rut=1">${title}</a>
      </h2>
      <div class="result__extras"><a class="result__url" href="//${site}/l/?uddg=x"> ${new URL(url).host} </a></div>
      <a class="result__snippet" href="//${site}/l/?uddg=x">${description}</a>
    </div>`,
  );
  return `<!DOCTYPE html><html><head><title>Search</title><script>if (a < b) document.write("<h2><a href='https://bad.example/'>x</a></h2>")</script></head>
    <body><div class="result result--ad"><h2><a class="result__a" href="https://${site}/y.js?ad=1">Buy!</a></h2>
    <a class="result__snippet">An advertisement</a></div>${entries.join('')}
    <div class="nav-link"><form><input type="submit" value="Next"></form></div></body></html>`;
}

/** Titles are links in headings, with an element for the description. */
export function articlePage(results: readonly Listed[]): string {
  const entries = results.map(
    ({ url, title, description }) => `
    <article class="result result-default category-general">
      <a href="${url}" class="url_header"><div class="url_wrapper"><span class="url_i1">${new URL(url).host}</span></div></a>
      <h3><a href="${url}" rel="noreferrer">${title}</a></h3>
      <p class="content">${description}</p>
      <div class="engines"><span>one</span><span>two</span></div>
    </article>`,
  );
  return `<html><body><main>${entries.join('')}</main></body></html>`;
}
