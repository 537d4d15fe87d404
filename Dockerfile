# docker build -t llise .
# docker run --rm -v "$PWD:/work" llise check original.png copy.png
FROM python:3.12-slim
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
RUN pip install --no-cache-dir /src && rm -rf /src
# Caches lie where any user can write, so that docker run --user works too.
ENV XDG_CACHE_HOME=/tmp/cache
RUN useradd --create-home llise
USER llise
WORKDIR /work
ENTRYPOINT ["llise"]
CMD ["--help"]
