# Parley in a container; docs/install.md says how to run it, and test/release/ runs these steps without Docker.
#   docker build -t parley .                       computes on processors
#   docker build -t parley:cuda --target cuda .    computes on NVIDIA cards (x64)

FROM node:22-trixie-slim AS build
WORKDIR /build
COPY . .
RUN npm run build
# What the package contains, beside exactly those packages of the lock file that run: none that only tests need.
RUN npm pack --ignore-scripts --loglevel=error \
    && mkdir /opt/parley \
    && tar -xzf parley-*.tgz -C /opt/parley --strip-components=1 \
    && npm pkg delete workspaces \
    && npm ci --omit=dev --ignore-scripts --no-fund --no-audit \
    && mv node_modules /opt/parley/

FROM node:22-trixie-slim AS processors
COPY --from=build /opt/parley /opt/parley
RUN ln -s /opt/parley/dist/main.js /usr/local/bin/parley \
    && install -d -o node -g node /data /models
# Parley's own files are in /data. Files of --model and other flags are looked for in /models.
ENV PARLEY_HOME=/data PARLEY_HOST=0.0.0.0 NODE_ENV=production
VOLUME ["/data", "/models"]
WORKDIR /models
USER node
EXPOSE 5001
# Loading a large model may take minutes; until then /health answers 503.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10m --start-interval=2s \
    CMD ["node", "-e", "fetch('http://127.0.0.1:5001/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["parley"]

# The build of llama.cpp for CUDA 12 runs with drivers from 525 on. It needs these libraries; the driver comes from the host.
FROM nvidia/cuda:12.9.1-runtime-ubuntu24.04 AS cuda-libraries
RUN mkdir /cuda && for name in cudart cublas cublasLt; do cp -L "/usr/local/cuda/lib64/lib$name.so.12" /cuda/; done

FROM processors AS cuda
USER root
COPY --from=cuda-libraries /cuda/ /usr/local/lib/
RUN ldconfig && PARLEY_PACKS=/opt/parley parley pack add cuda
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER node

# The last stage is the default one.
FROM processors
