# `hero serve` over a store on a volume:
#   docker build --tag hero-eval .
#   docker run --publish 127.0.0.1:8000:8000 --volume hero-store:/store --env HERO_TOKEN=$(openssl rand -hex 16) hero-eval
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/hero && /opt/hero/bin/pip install --no-cache-dir '.[web]'

FROM python:3.12-slim
COPY --from=build /opt/hero /opt/hero
RUN useradd --create-home --uid 10001 hero && mkdir /store && chown hero:hero /store
ENV PATH=/opt/hero/bin:$PATH HERO_STORE=/store NUMBA_CACHE_DIR=/home/hero/.cache/numba PYTHONUNBUFFERED=1
USER 10001
VOLUME /store
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
# A store is made on the first start; a server that is open to a network has a token.
CMD ["sh", "-c", "[ -n \"$HERO_TOKEN\" ] || { echo 'set HERO_TOKEN' >&2; exit 2; }; [ -d /store/hero/rounds ] || hero init --store /store/hero; exec hero serve --store /store/hero --host 0.0.0.0 --port 8000"]
